#pragma once
// The file of a Record: a magic number with a version, then blocks: kind, length, checksum, bytes.
// Blocks are appended whole, so the file is valid at any time; where the last one is cut off, as
// by a crash, it is left out on reading. Anything else that is not as it should be is refused.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tune/record.h"

namespace foretoken {

// What a file begins with.
inline constexpr std::string_view kRecordMagic = "FORETOKEN-RECORD";
inline constexpr std::uint32_t kRecordVersion = 1;

// Beyond these a file is refused, whatever it says.
inline constexpr int kMostRecordedWidth = 64;
inline constexpr int kMostRecordedSteps = 64;

class RecordWriter {
 public:
  // A new file at the path, in place of any that is there. Throws Error.
  RecordWriter(const std::string& path, const RecordIdentity& identity);

  // One thread at a time. Throws Error when the disk is full, say; the file then ends with the
  // block before.
  void add(const RecordedText& text);

  // Adds costs to a file that was written earlier.
  static void append_costs(const std::string& path, const std::string& json);

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::string path_;
  const int width_;
  std::unique_ptr<std::FILE, Close> file_;
};

// Of a block's bytes.
std::uint32_t record_checksum(std::string_view bytes);

// Throws Error that says what is wrong with the file.
Record read_record(const std::string& path);
// The same of bytes in memory; `where` names them.
Record parse_record(std::span<const std::byte> bytes, const std::string& where);

}  // namespace foretoken
