#include "checkpoint/formats/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file_times.h"
#include "base/index.h"
#include "base/system_page.h"

namespace foretoken {
namespace {

bool is_same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

MappedFile::Descriptor::Descriptor(const std::string& path)
    : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

MappedFile::Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

MappedFile::MappedFile(const std::string& path) : path_(path), file_(path) {
  if (file_.get() < 0 || fstat(file_.get(), &opened_) != 0)
    throw Error({"cannot open file", path, {}, std::strerror(errno)});
  if (!S_ISREG(opened_.st_mode)) throw Error({"cannot read", path, "a regular file", {}});
  size_ = static_cast<std::size_t>(opened_.st_size);
  if (size_ == 0) return;
  void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (data == MAP_FAILED) throw Error({"cannot map file", path, {}, std::strerror(errno)});
  data_ = static_cast<std::byte*>(data);
  guard_.emplace(data_, size_);
}

MappedFile::~MappedFile() {
  guard_.reset();
  if (data_ != nullptr) munmap(data_, size_);
}

void MappedFile::check() const {
  struct stat now{};
  if (fstat(file_.get(), &now) != 0)
    throw Error({"cannot read file", path_, {}, std::strerror(errno)});
  if (now.st_size != opened_.st_size)
    throw Error({"the file changed its size while it was read", path_,
                 std::to_string(opened_.st_size) + " bytes",
                 std::to_string(now.st_size) + " bytes"});
  if (guard_ && guard_->was_hit())
    throw Error({"a part of the file cannot be read", path_, {}, {}});
  if (!is_same_time(modified_at(now), modified_at(opened_)))
    throw Error({"the file was written to while it was read", path_, {}, {}});
}

void MappedFile::will_need(std::size_t offset, std::size_t bytes) const {
  const std::size_t first = offset / system_page() * system_page();
  if (bytes > 0) madvise(data_ + first, offset + bytes - first, MADV_WILLNEED);
}

void MappedFile::drop(std::size_t offset, std::size_t bytes) const {
  // Whole pages only: neighbours may still be read (they would come back, but slowly).
  const std::size_t first = round_up(offset, system_page());
  const std::size_t end = (offset + bytes) / system_page() * system_page();
  if (first < end) madvise(data_ + first, end - first, MADV_DONTNEED);
}

}  // namespace foretoken
