#include "checkpoint/mapped_checkpoint.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

// Writes the elements of a strided tensor one after the other, in the order of its shape.
void gather(const StoredTensor& stored, const std::byte* data, std::byte* out) {
  const std::size_t element_bytes = dtype_bytes(stored.dtype);
  const int rank = stored.shape.rank();
  std::vector<std::int64_t> index(static_cast<std::size_t>(rank), 0);
  for (std::int64_t left = stored.shape.elements(); left > 0; --left) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * stored.strides[d];
    std::memcpy(out, data + static_cast<std::size_t>(element) * element_bytes, element_bytes);
    out += element_bytes;
    for (int d = rank; d-- > 0;) {
      if (++index[static_cast<std::size_t>(d)] < stored.shape[d]) break;
      index[static_cast<std::size_t>(d)] = 0;
    }
  }
}

// What the header says. A file that changes meanwhile is the fault to report, not the nonsense in
// it.
std::vector<StoredTensor> parse_checked(const MappedFile& file, const CheckpointFormat& format) {
  try {
    auto tensors = format.parse(file.bytes(), file.path());
    file.check();
    return tensors;
  } catch (const Error&) {
    file.check();
    throw;
  }
}

}  // namespace

MappedCheckpoint::MappedCheckpoint(std::string folder, CheckpointFiles files,
                                   const CheckpointFormat& format, bool show_progress)
    : folder_(std::move(folder)) {
  for (const std::string& name : files.names) open_shard(name, format);
  check_index(files, format);
  progress_.emplace(format.name, static_cast<int>(shards_.size()), show_progress);
}

void MappedCheckpoint::open_shard(const std::string& name, const CheckpointFormat& format) {
  const std::string path = folder_ + "/" + name;
  if (!std::filesystem::exists(path))
    throw Error({"missing shard of the checkpoint", path,
                 "a file named by " + std::string(format.index_name), "no such file"});
  auto file = std::make_unique<MappedFile>(path);
  auto tensors = parse_checked(*file, format);
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

void MappedCheckpoint::check_index(const CheckpointFiles& files,
                                   const CheckpointFormat& format) const {
  for (const auto& [name, file] : files.file_of) {
    const auto found = entries_.find(name);
    const std::string path = folder_ + "/" + file;
    if (found == entries_.end() || shards_[found->second.shard].file->path() != path)
      throw Error({"tensor is not in the file that the index names",
                   folder_ + "/" + format.index_name + ", tensor " + name, "it in " + path,
                   found == entries_.end() ? "it nowhere"
                                           : "it in " + shards_[found->second.shard].file->path()});
  }
}

std::optional<Tensor> MappedCheckpoint::find(const std::string& name, const Shape&) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  const StoredTensor& stored = entry.stored;
  const MappedFile& file = *shards_[entry.shard].file;
  if (!stored.foreign_type.empty())
    throw Error({"tensor is of a type that is not supported", file.path() + ", tensor " + name,
                 "floats of 64, 32, 16 or 8 bits, integers, bytes or booleans",
                 stored.foreign_type});
  // Kernels only read weights; views have no const.
  auto* data = const_cast<std::byte*>(file.bytes().data()) + stored.offset;
  file.will_need(stored.offset, stored.bytes);
  if (!stored.strides.empty() || stored.offset % dtype_bytes(stored.dtype) != 0)
    return copy_of(stored, data);
  return Tensor(data, stored.dtype, stored.shape);
}

std::vector<std::string> MappedCheckpoint::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

void MappedCheckpoint::release(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  const Entry& entry = found->second;
  shards_[entry.shard].file->check();  // before anybody computes with what was read
  const std::lock_guard lock(mutex_);
  if (!released_.insert(name).second) return;
  copies_.erase(name);
  const Shard& shard = shards_[entry.shard];
  shard.file->drop(entry.stored.offset, entry.stored.bytes);
  if (--shard.unreleased == 0) progress_->finish_one();
}

// Old writers aligned nothing, so tensors may start at any byte; torch.save also keeps transposed
// tensors as they lie.
Tensor MappedCheckpoint::copy_of(const StoredTensor& stored, const std::byte* data) const {
  const auto bytes = static_cast<std::size_t>(stored.shape.elements()) * dtype_bytes(stored.dtype);
  const std::lock_guard lock(mutex_);
  Buffer& copy = copies_[stored.name];
  if (copy.bytes() != bytes) {
    copy = Buffer(bytes);
    auto* out = static_cast<std::byte*>(copy.data());
    if (stored.strides.empty())
      std::memcpy(out, data, bytes);
    else
      gather(stored, data, out);
  }
  return copy.view(stored.dtype, stored.shape);
}

}  // namespace foretoken
