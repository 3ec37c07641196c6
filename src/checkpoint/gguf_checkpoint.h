#pragma once
// GgufCheckpoint: the tensors of a GGUF model under the names and in the order that the decoder
// asks for. find() gives floats: views of the file where it has them, else made of the blocks by
// all cores, and kept until release(). rows() gives the blocks as they are. Loading threads only.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/threads.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/formats/gguf/gguf_model.h"
#include "checkpoint/formats/gguf/gguf_rows.h"
#include "checkpoint/shard_progress.h"
#include "tensor/buffer.h"

namespace foretoken {

class GgufCheckpoint final : public WeightSource {
 public:
  // path: a file, or a part of a split model. Throws Error.
  GgufCheckpoint(const std::string& path, bool show_progress);

  std::optional<Tensor> find(const std::string& name, const Shape&) const override;
  std::optional<GgufRows> rows(const std::string& name) const override;
  std::vector<std::string> names() const override;
  std::string where() const override { return model_.path(); }
  void release(const std::string& name) const override;

 private:
  void add(const std::string& stored, const GgufBlocks& blocks);
  void add_experts(const std::string& stored, const std::string& name, const GgufBlocks& blocks);
  void add_rows(const std::string& stored, const std::string& name, const GgufRows& rows);
  Tensor floats_of(const std::string& name, const GgufRows& rows) const;

  GgufModel model_;
  std::deque<GgufBlocks> parts_;          // of tensors that are several of the decoder's
  std::map<std::string, GgufRows> rows_;  // by the decoder's names
  mutable std::mutex mutex_;              // guards all below
  mutable std::map<std::string, Buffer> floats_;
  mutable std::map<const MappedFile*, std::size_t> unreleased_;  // tensors of each part
  mutable std::set<std::string> released_;
  mutable std::unique_ptr<ThreadPool> pool_;  // while there are blocks to read
  mutable std::optional<ShardProgress> progress_;
};

}  // namespace foretoken
