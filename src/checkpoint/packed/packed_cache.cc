#include "checkpoint/packed/packed_cache.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/byte_text.h"
#include "base/error.h"
#include "base/file_times.h"
#include "base/log.h"
#include "base/word_sum.h"
#include "checkpoint/formats/gguf/gguf_parts.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

std::uint64_t sum_of(const std::string& text) { return word_sum(std::as_bytes(std::span(text))); }

// Of a file's beginning, middle and end, or of all of a small one.
std::uint64_t sample_sum(const fs::path& path, std::uint64_t size) {
  constexpr std::uint64_t kSample = 1 << 16;
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  const auto add = [&](std::uint64_t from, std::uint64_t count) {
    std::string sample(count, '\0');
    file.seekg(static_cast<std::streamoff>(from));
    file.read(sample.data(), static_cast<std::streamsize>(count));
    if (!file) throw Error({.what = "cannot read file", .where = path.string()});
    bytes += sample;
  };
  if (size <= 3 * kSample) {
    add(0, size);
  } else {
    add(0, kSample);
    add(size / 2, kSample);
    add(size - kSample, kSample);
  }
  return sum_of(bytes);
}

std::string time_text(const timespec& time) {
  return fmt::format("{}.{:09}", time.tv_sec, time.tv_nsec);
}

bool holds_weights(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".json" || extension == ".safetensors" || extension == ".bin" ||
         extension == ".pt" || extension == ".pth";
}

}  // namespace

PackedCache::PackedCache(std::string path, std::function<std::string()> state)
    : path_(std::move(path)), make_state_(std::move(state)), state_(make_state_()) {
  try {
    file_ = PackedFile::open(path_);
  } catch (const Error& fault) {
    log_warning("Weights are packed anew: {}.", fault.what());
  }
  if (!file_ || file_->state() == state_) return;
  log_info("Weights are packed anew: the checkpoint is not what it was for {}.", path_);
  file_.reset();
}

std::unique_ptr<PackedLinear> PackedCache::take(LoadOps& ops, const std::string& name,
                                                LinearShape shape,
                                                std::vector<std::string>& tensors) {
  const PackedMatrix* const matrix = file_ ? file_->find(name) : nullptr;
  if (matrix == nullptr) return nullptr;
  shape.format = matrix->format;
  auto packed =
      ops.pack_again(shape, [&](std::size_t image, std::size_t offset, std::span<std::byte> to) {
        return file_->read(*matrix, image, offset, to);
      });
  if (!packed) {
    log_warning("Weights are packed anew: {} is damaged at {}.", path_, name);
    file_.reset();
    return nullptr;
  }
  tensors = matrix->tensors;
  kept_.push_back({*matrix, packed.get()});
  bytes_ += packed->bytes();
  return packed;
}

void PackedCache::keep(const std::string& name, const WeightFormat& format,
                       const std::vector<std::string>& tensors, const PackedLinear& packed) {
  kept_.push_back({{.name = name, .format = format, .tensors = tensors}, &packed});
  bytes_ += packed.bytes();
  is_changed_ = true;
}

void PackedCache::finish() try {
  if (kept_.empty()) {
    log_warning("Packed weights are not kept: this backend's cannot be.");
    return;
  }
  if (!is_changed_) {
    log_info("Packed weights: {:.2f} GB were read from {}.", gigabytes(bytes_), path_);
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  if (make_state_() != state_) {
    log_warning("Packed weights are not kept: the checkpoint was written to while it was read.");
    return;
  }
  std::error_code fault;
  fs::create_directories(fs::path(path_).parent_path(), fault);  // if not, writing says why
  std::vector<UnwrittenMatrix> matrices;
  for (const Kept& kept : kept_) matrices.push_back({kept.matrix, kept.packed->images()});
  if (!write_packed_file(path_, state_, matrices)) {
    log_info("Packed weights: another process is just writing {}.", path_);
    return;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  log_info("Packed weights: {:.2f} GB were written to {} in {:.1f} s.", gigabytes(bytes_), path_,
           seconds.count());
} catch (const std::exception& fault) {
  log_warning("Packed weights are not kept: {}.", fault.what());
}

// What was written to a file changes its time of change, which nobody can set; its bytes say it,
// too, where a file system has no such times.
std::string checkpoint_state(const std::string& path) {
  std::vector<fs::path> files;
  if (is_gguf(path)) {
    for (const std::string& part : gguf_files_of(path)) files.emplace_back(part);
  } else {
    std::error_code fault;
    for (const auto& entry : fs::directory_iterator(path, fault))
      if (holds_weights(entry.path())) files.push_back(entry.path());
    if (fault) throw Error({"cannot read folder", path, {}, fault.message()});
  }
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& file : files) {
    struct stat status{};
    if (stat(file.c_str(), &status) != 0)
      throw Error({"cannot read file", file.string(), {}, std::strerror(errno)});
    if (!S_ISREG(status.st_mode)) continue;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    text += fmt::format("{} {} {} {} {:016x}\n", file.filename().string(), size,
                        time_text(modified_at(status)), time_text(changed_at(status)),
                        sample_sum(file, size));
  }
  return text;
}

std::unique_ptr<PackedCache> open_packed_cache(const std::string& cache_folder,
                                               const std::string& folder, const std::string& part,
                                               const std::string& wish) try {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(folder, ignored);
  const std::string owner = fmt::format("{}\n{}\n{}", whole.string(), part, wish);
  std::string name = whole.filename().string();
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  name.resize(std::min<std::size_t>(name.size(), 100));
  const std::string path =
      fmt::format("{}/{}-{}-{:016x}.packed", cache_folder, name, part, sum_of(owner));
  return std::make_unique<PackedCache>(path, [folder, owner] {
    return fmt::format("{:016x}", sum_of(owner + '\n' + checkpoint_state(folder)));
  });
} catch (const std::exception& fault) {
  log_warning("Packed weights are not kept: {}.", fault.what());
  return nullptr;
}

}  // namespace foretoken
