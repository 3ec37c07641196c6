#pragma once
// TorchFile: what torch.save wrote, in both of its formats: zip archives (PyTorch 1.6 and later)
// and the older stream of pickles and storages. Not a loader: it says what the saved object is and
// where tensors' bytes lie; nothing is executed and nothing but tensors and plain data is let
// through. Views the file's bytes, which outlive it. Immutable after construction.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/formats/pickle.h"
#include "checkpoint/formats/stored_tensor.h"
#include "checkpoint/formats/zip_directory.h"

namespace foretoken {

class TorchFile {
 public:
  // `where` names the file in errors. Throws Error.
  TorchFile(std::span<const std::byte> file, std::string where);

  const Pickle& object() const { return object_; }

  bool is_tensor(PickleId id) const;
  // The tensor that a value of the pickle stands for, called `name` in errors and in the result.
  // Throws Error when it is none, or is not inside its storage.
  StoredTensor tensor(PickleId id, const std::string& name) const;

 private:
  struct StorageId;
  void read_zip();
  void read_legacy();
  StorageId storage_id(const PickleValue& value) const;

  std::span<const std::byte> file_;
  std::string where_;
  Pickle object_;
  std::map<std::string, ByteRange> storages_;  // by their key
};

// The tensors of a saved state dictionary {name: tensor}, in its order.
std::vector<StoredTensor> parse_torch_checkpoint(std::span<const std::byte> file,
                                                 const std::string& where);

}  // namespace foretoken
