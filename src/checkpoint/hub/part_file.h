#pragma once
// PartFile: a blob that is not whole yet, beside the place where it will be: SUM.foretoken.incomplete
// holds the bytes, SUM.foretoken.ranges says which of them are there. A later process goes on with it. What
// the ranges say is a hint: the sum is what counts. write() from any thread.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>

#include "checkpoint/hub/blob_ranges.h"

namespace foretoken {

class PartFile {
 public:
  // Opens what an earlier process has left, or begins. Throws Error.
  PartFile(const std::filesystem::path& blob, std::int64_t size);
  ~PartFile();  // what is not whole stays for the next time
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::filesystem::path& path() const { return data_; }
  std::int64_t bytes() const;
  std::vector<BlobRange> missing(std::int64_t piece) const;

  void write(std::int64_t offset, std::span<const char> bytes);  // throws Error: no room
  void clear();                                                  // all bytes are missing again
  // The part becomes the blob, on the disk. All bytes are there.
  void finish();

 private:
  void note();

  std::filesystem::path blob_;
  std::filesystem::path data_;
  std::filesystem::path noted_;
  std::int64_t size_;
  int file_ = -1;
  mutable std::mutex mutex_;
  BlobRanges there_;
  std::int64_t unnoted_ = 0;  // bytes since the ranges were written
};

}  // namespace foretoken
