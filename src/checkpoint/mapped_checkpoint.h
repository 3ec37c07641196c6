#pragma once
// MappedCheckpoint: a checkpoint of one or several files, mapped into memory; the same for every
// file format. Tensors are views of the files where the files hold them densely and aligned, copies
// otherwise. release() throws Error when the file changed while it was read. Loading threads only.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/shard_progress.h"
#include "tensor/buffer.h"

namespace foretoken {

class MappedCheckpoint final : public WeightSource {
 public:
  // Throws Error when a file is missing or broken, or is not what the index says.
  MappedCheckpoint(std::string folder, CheckpointFiles files, const CheckpointFormat& format,
                   bool show_progress);

  std::optional<Tensor> find(const std::string& name, const Shape&) const override;
  std::vector<std::string> names() const override;
  std::string where() const override { return folder_; }
  void release(const std::string& name) const override;

 private:
  struct Entry {
    std::size_t shard;
    StoredTensor stored;
  };
  struct Shard {
    std::unique_ptr<MappedFile> file;
    mutable std::size_t unreleased = 0;  // tensors
  };

  void open_shard(const std::string& name, const CheckpointFormat& format);
  void check_index(const CheckpointFiles& files, const CheckpointFormat& format) const;
  Tensor copy_of(const StoredTensor& stored, const std::byte* data) const;

  std::string folder_;
  std::vector<Shard> shards_;
  std::map<std::string, Entry> entries_;
  mutable std::mutex mutex_;  // guards all below and Shard::unreleased
  mutable std::map<std::string, Buffer> copies_;
  mutable std::set<std::string> released_;
  mutable std::optional<ShardProgress> progress_;
};

}  // namespace foretoken
