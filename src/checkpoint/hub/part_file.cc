#include "checkpoint/hub/part_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoteEvery = std::int64_t{4} << 20;

fs::path with(const fs::path& blob, const char* ending) { return blob.string() + ending; }

[[noreturn]] void refuse(const char* what, const fs::path& path) {
  throw Error({what, path.string(), {}, std::strerror(errno)});
}

void check_room(const fs::path& folder, std::int64_t bytes) {
  struct statvfs disk{};
  if (statvfs(folder.c_str(), &disk) != 0) return;
  const auto room =
      static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  if (bytes > room)
    throw Error({"no room on the disk for the download", folder.string(),
                 fmt::format("{} MB", bytes >> 20), fmt::format("{} MB", room >> 20)});
}

}  // namespace

PartFile::PartFile(const fs::path& blob, std::int64_t size)
    : blob_(blob),
      data_(with(blob, ".foretoken.incomplete")),
      noted_(with(blob, ".foretoken.ranges")),
      size_(size) {
  std::error_code failed;
  fs::create_directories(blob.parent_path(), failed);
  // Ranges whose bytes are gone would be noted as there.
  const auto length = fs::exists(data_, failed) ? fs::file_size(data_) : 0;
  if (const auto text = read_file(noted_))
    there_ = BlobRanges::read(*text, std::min(size, static_cast<std::int64_t>(length)));
  check_room(blob.parent_path(), size_ - there_.bytes());
  file_ = open(data_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) refuse("cannot make a file of the download", data_);
}

PartFile::~PartFile() {
  if (file_ < 0) return;
  note();
  close(file_);
}

std::int64_t PartFile::bytes() const {
  const std::lock_guard lock(mutex_);
  return there_.bytes();
}

std::vector<BlobRange> PartFile::missing(std::int64_t piece) const {
  const std::lock_guard lock(mutex_);
  return there_.missing(size_, piece);
}

void PartFile::write(std::int64_t offset, std::span<const char> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = pwrite(file_, bytes.data() + done, bytes.size() - done,
                                 offset + static_cast<std::int64_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) refuse("cannot write the download", data_);
    done += static_cast<std::size_t>(wrote);
  }
  const auto count = static_cast<std::int64_t>(bytes.size());
  const std::lock_guard lock(mutex_);
  there_.add({offset, offset + count});
  unnoted_ += count;
  if (unnoted_ >= kNoteEvery) note();
}

void PartFile::clear() {
  const std::lock_guard lock(mutex_);
  there_ = {};
  note();
}

void PartFile::finish() {
  // Bytes of a file that was left behind may lie behind the end.
  if (ftruncate(file_, size_) != 0 || fsync(file_) != 0) refuse("cannot write the download", data_);
  close(file_);
  file_ = -1;
  std::error_code failed;
  fs::rename(data_, blob_, failed);
  if (failed)
    throw Error({"cannot put the download in its place", blob_.string(), {}, failed.message()});
  fs::remove(noted_, failed);
}

void PartFile::note() {
  unnoted_ = 0;
  const fs::path next = with(noted_, ".new");
  std::error_code failed;
  if (std::ofstream(next) << there_.text()) fs::rename(next, noted_, failed);
}

}  // namespace foretoken
