#include "checkpoint/formats/zip_directory.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/error.h"

namespace foretoken {
namespace {

// Signatures and sizes of the records: APPNOTE.TXT, section 4.3.
constexpr std::uint64_t kLocalMark = 0x04034b50;
constexpr std::uint64_t kEntryMark = 0x02014b50;
constexpr std::uint64_t kEndMark = 0x06054b50;
constexpr std::uint64_t kEnd64Mark = 0x06064b50;
constexpr std::uint64_t kLocator64Mark = 0x07064b50;
constexpr std::size_t kLocalBytes = 30, kEntryBytes = 46, kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr std::size_t kMaxCommentBytes = 0xffff;
constexpr std::uint64_t kIn64BitField = 0xffffffff;  // a 32-bit field that says "see the extension"
constexpr std::uint64_t kExtension64 = 1;            // id of the extension with 64-bit fields

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, const std::string& where)
      : file_(file), where_(where) {}

  std::map<std::string, ByteRange> read() {
    const std::uint64_t end = find_end();
    std::uint64_t count = number(end + 10, 2), at = number(end + 16, 4);
    if (const auto end64 = find_end64(end)) {
      count = number(*end64 + 32, 8);
      at = number(*end64 + 48, 8);
    }
    for (std::uint64_t i = 0; i < count; ++i) at = read_entry(at);
    return std::move(entries_);
  }

 private:
  [[noreturn]] void fail(std::string what, std::string expected = {},
                         std::string found = {}) const {
    throw Error({std::move(what), where_, std::move(expected), std::move(found)});
  }

  // Little-endian.
  std::uint64_t number(std::uint64_t at, std::size_t count) const {
    if (at > file_.size() || count > file_.size() - at)
      fail("truncated zip archive", "data up to byte " + std::to_string(at + count),
           std::to_string(file_.size()) + " bytes");
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(file_[static_cast<std::size_t>(at) + i]);
    return value;
  }

  std::uint64_t find_end() const {
    const std::size_t reach = std::min(file_.size(), kEndBytes + kMaxCommentBytes);
    for (std::size_t back = kEndBytes; back <= reach; ++back)
      if (number(file_.size() - back, 4) == kEndMark) return file_.size() - back;
    fail("truncated zip archive: it has no directory at its end");
  }

  std::optional<std::uint64_t> find_end64(std::uint64_t end) const {
    if (end < kLocator64Bytes || number(end - kLocator64Bytes, 4) != kLocator64Mark)
      return std::nullopt;
    const std::uint64_t at = number(end - kLocator64Bytes + 8, 8);
    if (file_.size() < kEnd64Bytes || at > file_.size() - kEnd64Bytes ||
        number(at, 4) != kEnd64Mark)
      fail("bad zip archive: its 64-bit directory is not where it should be");
    return at;
  }

  // Returns where the next entry begins. Each takes bytes of the file, so that a wrong count ends.
  std::uint64_t read_entry(std::uint64_t at) {
    if (number(at, 4) != kEntryMark) fail("bad zip archive: an entry of its directory is broken");
    const std::uint64_t flags = number(at + 8, 2), method = number(at + 10, 2);
    const std::uint64_t name_bytes = number(at + 28, 2), extra_bytes = number(at + 30, 2);
    const std::uint64_t end = at + kEntryBytes + name_bytes + extra_bytes + number(at + 32, 2);
    if (end > file_.size()) fail("truncated zip archive: its directory does not fit");
    const std::string name(reinterpret_cast<const char*>(file_.data()) + at + kEntryBytes,
                           static_cast<std::size_t>(name_bytes));
    if ((flags & 1) != 0) fail("zip entry is encrypted", {}, name);
    if (method != 0)
      fail("zip entry is compressed", "entries stored as torch.save stores them", name);
    Sizes sizes{number(at + 20, 4), number(at + 24, 4), number(at + 42, 4)};
    read_extension(at + kEntryBytes + name_bytes, at + kEntryBytes + name_bytes + extra_bytes,
                   sizes);
    if (sizes.stored != sizes.plain) fail("zip entry has two sizes", {}, name);
    if (!entries_.emplace(name, data_range(name, sizes)).second)
      fail("two zip entries of one name", {}, name);
    return end;
  }

  struct Sizes {
    std::uint64_t stored, plain, header_at;
  };

  // The 64-bit extension holds those fields that did not fit, in this order.
  void read_extension(std::uint64_t at, std::uint64_t end, Sizes& sizes) const {
    while (end - at >= 4) {
      const std::uint64_t id = number(at, 2);
      const std::uint64_t next = at + 4 + number(at + 2, 2);
      if (next > end) fail("bad zip archive: an extension of an entry does not fit");
      std::uint64_t field = at + 4;
      if (id == kExtension64)
        for (std::uint64_t* value : {&sizes.plain, &sizes.stored, &sizes.header_at})
          if (*value == kIn64BitField && field + 8 <= next) {
            *value = number(field, 8);
            field += 8;
          }
      at = next;
    }
  }

  // The entry's own header repeats its name and may pad it, so it says where the data begins.
  ByteRange data_range(const std::string& name, const Sizes& sizes) const {
    const std::uint64_t header = sizes.header_at;
    if (file_.size() < kLocalBytes || header > file_.size() - kLocalBytes ||
        number(header, 4) != kLocalMark)
      fail("bad zip archive: an entry is not where its directory says", {}, name);
    const std::uint64_t begin =
        header + kLocalBytes + number(header + 26, 2) + number(header + 28, 2);
    if (begin > file_.size() || sizes.plain > file_.size() - begin)
      fail("zip entry ends beyond the end of the file (truncated?)",
           name + " within " + std::to_string(file_.size()) + " bytes",
           std::to_string(sizes.plain) + " bytes at " + std::to_string(begin));
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(sizes.plain)};
  }

  std::span<const std::byte> file_;
  const std::string& where_;
  std::map<std::string, ByteRange> entries_;
};

}  // namespace

bool is_zip(std::span<const std::byte> file) {
  constexpr std::byte kMark[] = {std::byte{'P'}, std::byte{'K'}, std::byte{3}, std::byte{4}};
  return file.size() >= 4 && std::equal(std::begin(kMark), std::end(kMark), file.begin());
}

std::map<std::string, ByteRange> read_zip_directory(std::span<const std::byte> file,
                                                    const std::string& where) {
  return ZipReader(file, where).read();
}

}  // namespace foretoken
