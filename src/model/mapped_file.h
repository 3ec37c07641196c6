#pragma once
// MappedFile: a file's bytes, read-only, mapped into memory. Not for files that shrink while they
// are mapped. Immutable after construction.

#include <cstddef>
#include <span>
#include <string>

namespace foretoken {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws Error
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  // Hints for a range of bytes(): it will be read soon; it will not be read again.
  void will_need(std::size_t offset, std::size_t bytes) const;
  void drop(std::size_t offset, std::size_t bytes) const;

 private:
  std::string path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace foretoken
