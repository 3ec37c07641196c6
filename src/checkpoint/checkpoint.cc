#include "checkpoint/checkpoint.h"

#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/mapped_checkpoint.h"

namespace foretoken {

std::unique_ptr<WeightSource> open_checkpoint(const std::string& folder,
                                              const std::string& load_format, bool show_progress) {
  std::vector<const CheckpointFormat*> formats;
  if (load_format == "auto" || load_format == "safetensors")
    formats.push_back(&safetensors_format());
  if (load_format == "auto" || load_format == "pt") formats.push_back(&torch_format());
  if (formats.empty())
    throw Error(
        {"unknown load format", "--load-format", "auto, safetensors, pt or dummy", load_format});
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
