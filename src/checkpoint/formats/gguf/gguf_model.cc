#include "checkpoint/formats/gguf/gguf_model.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_parts.h"

namespace foretoken {
namespace {

// What the header says. A file that changes meanwhile is the fault to report, not the nonsense in
// it.
GgufHeader parse_checked(const MappedFile& file) {
  try {
    GgufHeader header = parse_gguf(file.bytes(), file.path());
    file.check();
    return header;
  } catch (const Error&) {
    file.check();
    throw;
  }
}

}  // namespace

GgufModel::GgufModel(const std::string& path) {
  const auto named = part_of(path);
  path_ = named ? named->path_of(1) : path;
  open(path_);
  const auto count = static_cast<std::size_t>(
      metadata().integer("split.count").value_or(named ? named->count : 1));
  if (count > 1 && !named)
    throw Error({"a part of a split GGUF model has no number in its name",
                 path,
                 "a name like model-00001-of-00003.gguf",
                 {}});
  if (named && count != named->count)
    throw Error({"the GGUF file's name and its metadata disagree", path_ + ", key split.count",
                 std::to_string(named->count) + " parts", std::to_string(count)});
  for (std::size_t part = 2; part <= count; ++part) open(named->path_of(part));
  if (count > 1) check_parts(count);
}

void GgufModel::open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error({"a part of the split GGUF model is missing", path, "a file", "none"});
  auto file = std::make_unique<MappedFile>(path);
  Part part{.file = nullptr, .header = parse_checked(*file)};
  for (const GgufTensor& tensor : part.header.tensors) {
    const GgufBlocks blocks{.type = tensor.type,
                            .shape = tensor.shape,
                            .data = file->bytes().data() + tensor.offset,
                            .file = file.get(),
                            .offset = tensor.offset};
    if (!tensors_.emplace(tensor.name, blocks).second)
      throw Error({"two parts of the split GGUF model hold one tensor",
                   path + ", tensor " + tensor.name,
                   {},
                   {}});
  }
  part.file = std::move(file);
  parts_.push_back(std::move(part));
}

void GgufModel::check_parts(std::size_t count) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const GgufMetadata& metadata = parts_[i].header.metadata;
    for (const auto& [key, expected] : {std::pair<std::string, std::size_t>{"split.count", count},
                                        std::pair<std::string, std::size_t>{"split.no", i}})
      if (metadata.integer(key) != static_cast<std::int64_t>(expected))
        metadata.refuse(key, std::to_string(expected),
                        metadata.has(key) ? "another number" : "nothing");
  }
  const auto tensors = metadata().integer("split.tensors.count");
  if (tensors && *tensors != static_cast<std::int64_t>(tensors_.size()))
    metadata().refuse("split.tensors.count", std::to_string(tensors_.size()) + " as all parts have",
                      std::to_string(*tensors));
}

const GgufBlocks* GgufModel::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const GgufBlocks* GgufModel::find_in_layers(const std::string& name) const {
  constexpr std::string_view kLayer = "blk.";
  for (const auto& [stored, blocks] : tensors_) {
    if (!stored.starts_with(kLayer)) continue;
    const std::size_t dot = stored.find('.', kLayer.size());
    if (dot != std::string::npos && std::string_view(stored).substr(dot + 1) == name)
      return &blocks;
  }
  return nullptr;
}

std::string GgufModel::own_key(std::string_view name) const {
  return metadata().text("general.architecture").value_or("") + "." + std::string(name);
}

std::optional<std::int64_t> GgufModel::size(std::string_view name) const {
  return metadata().integer(own_key(name));
}

void GgufModel::check() const {
  for (const Part& part : parts_) part.file->check();
}

}  // namespace foretoken
