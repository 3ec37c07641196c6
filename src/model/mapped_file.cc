#include "model/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr std::size_t kPageBytes = 4096;

class FileDescriptor {
 public:
  explicit FileDescriptor(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const FileDescriptor file(path.c_str());
  struct stat info{};
  if (file.get() < 0 || fstat(file.get(), &info) != 0)
    throw Error({"cannot open file", path, {}, std::strerror(errno)});
  if (!S_ISREG(info.st_mode)) throw Error({"cannot read", path, "a regular file", {}});
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ == 0) return;
  void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) throw Error({"cannot map file", path, {}, std::strerror(errno)});
  data_ = static_cast<std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

void MappedFile::will_need(std::size_t offset, std::size_t bytes) const {
  const std::size_t first = offset / kPageBytes * kPageBytes;
  if (bytes > 0) madvise(data_ + first, offset + bytes - first, MADV_WILLNEED);
}

void MappedFile::drop(std::size_t offset, std::size_t bytes) const {
  // Whole pages only: neighbours may still be read (they would come back, but slowly).
  const std::size_t first = (offset + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::size_t end = (offset + bytes) / kPageBytes * kPageBytes;
  if (first < end) madvise(data_ + first, end - first, MADV_DONTNEED);
}

}  // namespace foretoken
