#include "checkpoint/checkpoint.h"

#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/gguf_checkpoint.h"
#include "checkpoint/mapped_checkpoint.h"
#include "checkpoint/model_files.h"

namespace foretoken {

std::unique_ptr<WeightSource> open_checkpoint(const std::string& path,
                                              const std::string& load_format, bool show_progress) {
  const bool is_file = is_model_file(path);
  if (is_file && (load_format == "auto" || load_format == "gguf"))
    return std::make_unique<GgufCheckpoint>(path, show_progress);
  if (is_file || load_format == "gguf")
    throw Error({"the weights are of another format than --load-format says", path, load_format,
                 is_file ? "a GGUF file" : "no GGUF file"});
  const std::string& folder = path;
  std::vector<const CheckpointFormat*> formats;
  if (load_format == "auto" || load_format == "safetensors")
    formats.push_back(&safetensors_format());
  if (load_format == "auto" || load_format == "pt") formats.push_back(&torch_format());
  if (formats.empty())
    throw Error({"unknown load format", "--load-format", "auto, safetensors, pt, gguf or dummy",
                 load_format});
  std::string expected;
  for (const CheckpointFormat* format : formats) {
    if (auto files = find_checkpoint_files(folder, *format))
      return std::make_unique<MappedCheckpoint>(folder, *std::move(files), *format, show_progress);
    expected += (expected.empty() ? "" : ", ") + std::string(format->file_name) + " or " +
                format->index_name;
  }
  for (const CheckpointFormat* format : formats)
    if (auto files = find_other_files(folder, *format))
      return std::make_unique<MappedCheckpoint>(folder, *std::move(files), *format, show_progress);
  throw Error({"no weights in the model folder", folder, expected, "none"});
}

}  // namespace foretoken
