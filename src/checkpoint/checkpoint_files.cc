#include "checkpoint/checkpoint_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/file_fields.h"
#include "base/json_text.h"
#include "checkpoint/formats/safetensors_header.h"
#include "checkpoint/formats/torch_file.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// What trainers leave beside the weights under the same extensions; SGLang's list, and adapters.
constexpr std::array<std::string_view, 7> kNoWeights{"training_args.bin",
                                                     "optimizer.bin",
                                                     "optimizer.pt",
                                                     "scheduler.pt",
                                                     "scaler.pt",
                                                     "adapter_model.bin",
                                                     "adapter_model.safetensors"};

CheckpointFiles read_index(const std::string& path, const std::string& text) {
  const boost::json::object index = read_json_object(text, path);
  const FileFields fields(index, path);
  const boost::json::object* map = fields.object("weight_map");
  if (map == nullptr) fields.refuse_missing("weight_map");
  CheckpointFiles found;
  std::set<std::string> files;
  for (const auto& [name, value] : *map) {
    if (!value.is_string())
      throw Error({"bad entry of \"weight_map\"",
                   path + ", tensor " + std::string(name),
                   "a file name",
                   {}});
    const std::string file(value.get_string());
    if (file.empty() || file.find('/') != std::string::npos)
      throw Error({"bad entry of \"weight_map\"", path + ", tensor " + std::string(name),
                   "a file name inside the folder", "\"" + file + "\""});
    found.file_of.emplace(name, file);
    files.insert(file);
  }
  if (files.empty()) throw Error({"\"weight_map\" names no file", path, {}, {}});
  found.names.assign(files.begin(), files.end());
  return found;
}

std::vector<std::string> files_with(const std::string& folder, const char* extension) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == extension &&
        std::ranges::find(kNoWeights, name) == kNoWeights.end())
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "model-00001-of-00003.safetensors" says how many files there should be.
void check_count(const std::string& folder, const std::vector<std::string>& names) {
  const std::string& name = names.front();
  const std::size_t of = name.rfind("-of-");
  if (of == std::string::npos) return;
  const std::string count = name.substr(of + 4, name.rfind('.') - of - 4);
  if (count.empty() || count.size() > 9 ||
      count.find_first_not_of("0123456789") != std::string::npos)
    return;
  if (std::stoul(count) != names.size())
    throw Error({"missing shard of the checkpoint", folder, count + " files like " + name,
                 std::to_string(names.size())});
}

}  // namespace

const CheckpointFormat& safetensors_format() {
  static const CheckpointFormat format{"safetensors",
                                       "model.safetensors.index.json",
                                       "model.safetensors",
                                       {".safetensors"},
                                       parse_safetensors};
  return format;
}

const CheckpointFormat& torch_format() {
  static const CheckpointFormat format{"pt",
                                       "pytorch_model.bin.index.json",
                                       "pytorch_model.bin",
                                       {".bin", ".pt"},
                                       parse_torch_checkpoint};
  return format;
}

std::optional<CheckpointFiles> find_checkpoint_files(const std::string& folder,
                                                     const CheckpointFormat& format) {
  std::error_code ignored;
  const bool has_file = fs::exists(folder + "/" + format.file_name, ignored);
  const std::string index_path = folder + "/" + format.index_name;
  if (const auto text = read_file(index_path)) {
    CheckpointFiles indexed = read_index(index_path, *text);
    if (!has_file || std::ranges::count(indexed.names, format.file_name) > 0) return indexed;
  }
  if (has_file) return CheckpointFiles{{format.file_name}, {}};
  return std::nullopt;
}

std::optional<CheckpointFiles> find_other_files(const std::string& folder,
                                                const CheckpointFormat& format) {
  for (const char* extension : format.extensions) {
    auto names = files_with(folder, extension);
    if (names.empty()) continue;
    check_count(folder, names);
    return CheckpointFiles{std::move(names), {}};
  }
  return std::nullopt;
}

}  // namespace foretoken
