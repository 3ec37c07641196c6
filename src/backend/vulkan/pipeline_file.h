#pragma once
// PipelineFile: what a driver has made of shaders, kept from one start to the next. One file for
// each device, driver and set of shaders, all of which are in its key. What is damaged, too large
// or of another key is ignored with a line of the log, and written anew. Writers leave the old file
// or the new one, never half of it. Not what the data mean: that is the driver's. One thread at a
// time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace foretoken {

class PipelineFile {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  // folder: made when it is written to; empty: nothing is kept.
  PipelineFile(const std::string& folder, std::uint64_t key);

  const std::string& path() const { return path_; }  // empty: nothing is kept
  std::vector<std::byte> read() const;               // empty: there is nothing that can be used
  bool write(std::span<const std::byte> data) const;

 private:
  std::uint64_t key_;
  std::string path_;
};

}  // namespace foretoken
