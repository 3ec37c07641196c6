#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "model/checkpoint.h"
#include "model/json_fields.h"
#include "model/mapped_file.h"
#include "model/safetensors_header.h"
#include "model/shard_progress.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kSingleName = "model.safetensors";

// Which files hold the checkpoint, and for each tensor of the index the file it should be in.
struct Layout {
  std::vector<std::string> files;  // names inside the folder, ascending
  std::map<std::string, std::string> file_of;
};

Layout read_index(const std::string& path, const std::string& text) {
  const boost::json::object index = read_json_object(text, path);
  const JsonFields fields(index, path);
  const boost::json::object* map = fields.object("weight_map");
  if (map == nullptr) fields.refuse_missing("weight_map");
  Layout layout;
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
    layout.file_of.emplace(name, file);
    files.insert(file);
  }
  if (files.empty()) throw Error({"\"weight_map\" names no file", path, {}, {}});
  layout.files.assign(files.begin(), files.end());
  return layout;
}

std::vector<std::string> safetensors_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().filename());
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

Layout find_files(const std::string& folder) {
  const std::string index_path = folder + "/" + kIndexName;
  if (const auto text = read_file_if_present(index_path)) return read_index(index_path, *text);
  Layout layout{safetensors_in(folder), {}};
  const auto& names = layout.files;
  if (std::find(names.begin(), names.end(), kSingleName) != names.end()) return {{kSingleName}, {}};
  if (names.empty())
    throw Error({"no weights in the model folder", folder,
                 std::string(kSingleName) + " or " + kIndexName, "no *.safetensors file"});
  check_count(folder, names);
  return layout;
}

class SafetensorsSource final : public WeightSource {
 public:
  SafetensorsSource(const std::string& folder, bool show_progress)
      : folder_(folder), layout_(find_files(folder)) {
    for (const std::string& name : layout_.files) open_shard(name);
    check_index();
    progress_.emplace(static_cast<int>(shards_.size()), show_progress);
  }

  std::optional<Tensor> find(const std::string& name, const Shape&) const override {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return std::nullopt;
    const Entry& entry = found->second;
    const StoredTensor& stored = entry.stored;
    const MappedFile& file = *shards_[entry.shard].file;
    // Kernels only read weights; views have no const.
    auto* data = const_cast<std::byte*>(file.bytes().data()) + stored.offset;
    if (stored.offset % dtype_bytes(stored.dtype) != 0) return aligned_copy(stored, data);
    file.will_need(stored.offset, stored.bytes);
    return Tensor(data, stored.dtype, stored.shape);
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  std::string where() const override { return folder_; }

  void release(const std::string& name) const override {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    const Entry& entry = found->second;
    const std::lock_guard lock(mutex_);
    if (!released_.insert(name).second) return;
    copies_.erase(name);
    const Shard& shard = shards_[entry.shard];
    shard.file->drop(entry.stored.offset, entry.stored.bytes);
    if (--shard.unreleased == 0) progress_->finish_one();
  }

 private:
  struct Entry {
    std::size_t shard;
    StoredTensor stored;
  };
  struct Shard {
    std::unique_ptr<MappedFile> file;
    mutable std::size_t unreleased = 0;  // tensors
  };

  void open_shard(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    if (!fs::exists(path))
      throw Error({"missing shard of the checkpoint", path,
                   "a file named by " + std::string(kIndexName), "no such file"});
    auto file = std::make_unique<MappedFile>(path);
    auto tensors = parse_safetensors(file->bytes(), path);
    const std::size_t shard = shards_.size();
    for (StoredTensor& stored : tensors) {
      const auto [other, is_new] = entries_.try_emplace(stored.name, Entry{shard, stored});
      if (!is_new)
        throw Error({"two shards hold one tensor",
                     path + ", tensor " + stored.name,
                     {},
                     "it in " + shards_[other->second.shard].file->path() + " too"});
    }
    shards_.push_back({std::move(file), tensors.size()});
  }

  void check_index() const {
    for (const auto& [name, file] : layout_.file_of) {
      const auto found = entries_.find(name);
      const std::string path = folder_ + "/" + file;
      if (found == entries_.end() || shards_[found->second.shard].file->path() != path)
        throw Error({"tensor is not in the file that the index names",
                     folder_ + "/" + kIndexName + ", tensor " + name, "it in " + path,
                     found == entries_.end()
                         ? "it nowhere"
                         : "it in " + shards_[found->second.shard].file->path()});
    }
  }

  // Old writers did not pad the header, so tensors may start at any byte.
  Tensor aligned_copy(const StoredTensor& stored, const std::byte* data) const {
    const std::lock_guard lock(mutex_);
    Buffer& copy = copies_[stored.name];
    if (copy.bytes() != stored.bytes) {
      copy = Buffer(stored.bytes);
      std::copy(data, data + stored.bytes, static_cast<std::byte*>(copy.data()));
    }
    return copy.view(stored.dtype, stored.shape);
  }

  std::string folder_;
  Layout layout_;
  std::vector<Shard> shards_;
  std::map<std::string, Entry> entries_;
  mutable std::mutex mutex_;  // guards all below and Shard::unreleased
  mutable std::map<std::string, Buffer> copies_;
  mutable std::set<std::string> released_;
  mutable std::optional<ShardProgress> progress_;
};

}  // namespace

std::unique_ptr<WeightSource> open_safetensors(const std::string& folder, bool show_progress) {
  return std::make_unique<SafetensorsSource>(folder, show_progress);
}

}  // namespace foretoken
