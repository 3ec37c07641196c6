#pragma once
// WeightSource: named tensors of a checkpoint. Not a parser interface: implementations map files or
// make weights up (dummy). Views stay valid while the source lives; loading threads only.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/formats/gguf/gguf_rows.h"
#include "tensor/tensor.h"

namespace foretoken {

class PackedCache;

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The tensor of that name in its stored dtype, or nullopt. The expected shape lets a dummy source
  // make it up.
  virtual std::optional<Tensor> find(const std::string& name, const Shape& expected) const = 0;
  // The same as the blocks that are stored; nullopt where this source stores none.
  virtual std::optional<GgufRows> rows(const std::string& name) const {
    (void)name;
    return std::nullopt;
  }
  virtual std::vector<std::string> names() const = 0;  // empty for made-up weights
  virtual std::string where() const = 0;               // folder or "dummy weights", for errors
  // The caller has packed this tensor and will not read it again (drop the mapped pages). Throws
  // Error when the bytes that it read were not those of the file that was opened.
  virtual void release(const std::string& name) const { (void)name; }
  // Where packed matrices of these weights are kept from one start to the next; null: nowhere.
  virtual PackedCache* packed() const { return nullptr; }
};

// Opens the checkpoint file(s) of a folder (single, or sharded by an index) or a GGUF file,
// memory-mapped and checked: every tensor inside its file, no name twice, the index true.
// load_format: "gguf", "safetensors", "pt" (what torch.save writes, of which nothing is executed),
// or "auto": the first of these that `path` has. Throws Error. Prints SGLang's progress bar
// ("Loading safetensors checkpoint shards: ...") to standard error when show_progress.
std::unique_ptr<WeightSource> open_checkpoint(const std::string& path,
                                              const std::string& load_format, bool show_progress);

// Random weights of whatever shape is asked for, the same for the same seed, name and shape.
std::unique_ptr<WeightSource> dummy_weights(std::uint64_t seed);

}  // namespace foretoken
