#pragma once
// MappedFile: a file's bytes, read-only, mapped into memory. A file that shrinks or is written to
// while it is mapped does not end the process: bytes that are gone read as zeros, and check() says
// so. Nothing that was read may be used before check(). Immutable after construction.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <sys/stat.h>

#include "checkpoint/formats/mapping_guard.h"

namespace foretoken {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws Error
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Throws Error when the file is not what it was when it was mapped.
  void check() const;

  // Hints for a range of bytes(): it will be read soon; it will not be read again.
  void will_need(std::size_t offset, std::size_t bytes) const;
  void drop(std::size_t offset, std::size_t bytes) const;

 private:
  class Descriptor {
   public:
    explicit Descriptor(const std::string& path);  // -1: see errno
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

   private:
    int fd_;
  };

  std::string path_;
  Descriptor file_;
  struct stat opened_{};  // when it was mapped
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::optional<MappingGuard> guard_;  // ends before the mapping does
};

}  // namespace foretoken
