#pragma once
// BlobRanges: which bytes of a file there are, as few intervals that neither touch nor overlap.
// One thread at a time.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct BlobRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;  // behind the last

  std::int64_t size() const { return end - begin; }
  bool operator==(const BlobRange&) const = default;
};

class BlobRanges {
 public:
  void add(BlobRange range);  // may overlap what is there
  std::int64_t bytes() const;
  // What of [0, size) is not there, cut into pieces of at most `piece` bytes.
  std::vector<BlobRange> missing(std::int64_t size, std::int64_t piece) const;

  // One line "begin end" for each interval; read() gives nothing for a text of another form.
  std::string text() const;
  static BlobRanges read(std::string_view text, std::int64_t size);

 private:
  std::map<std::int64_t, std::int64_t> end_of_;  // by begin
};

}  // namespace foretoken
