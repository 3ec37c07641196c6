#pragma once
// Which files of a folder hold a checkpoint, in either of the formats that are read. Not the
// reading: only names, and the index that says which tensor is in which file.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/formats/stored_tensor.h"

namespace foretoken {

// A file format of checkpoints.
struct CheckpointFormat {
  const char* name;        // as SGLang's progress bar calls it
  const char* index_name;  // says which file holds which tensor of a checkpoint of several files
  const char* file_name;   // of a checkpoint of one file
  // Extensions of other names that hold weights: the files of the first that any file has.
  std::vector<const char*> extensions;
  // The tensors of a file's bytes; throws Error, with `where` in it.
  std::vector<StoredTensor> (*parse)(std::span<const std::byte> file, const std::string& where);
};

const CheckpointFormat& safetensors_format();
const CheckpointFormat& torch_format();  // what torch.save writes

struct CheckpointFiles {
  std::vector<std::string> names;              // inside the folder, ascending
  std::map<std::string, std::string> file_of;  // tensor to file; empty without an index
};

// The checkpoint under its usual names: one file, or several with an index; nullopt when there is
// none. One file has priority over an index that is not about it, which is what an earlier, larger
// one has left. Throws Error on a broken index.
std::optional<CheckpointFiles> find_checkpoint_files(const std::string& folder,
                                                     const CheckpointFormat& format);
// Files of other names; nullopt when the folder has none. Throws Error where the names
// ("model-00001-of-00003.safetensors") say that some are missing.
std::optional<CheckpointFiles> find_other_files(const std::string& folder,
                                                const CheckpointFormat& format);

}  // namespace foretoken
