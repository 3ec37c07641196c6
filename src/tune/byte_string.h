#pragma once
// Little-endian numbers in a string of bytes: written at its end, read from its front. Reading
// beyond the end throws, and no size is believed before the bytes are there. Not a format.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace foretoken {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

class ByteWriter {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void put_all(std::span<const T> values) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void put_bytes(std::string_view bytes) { bytes_.append(bytes); }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  // where: names the bytes in errors.
  ByteReader(std::span<const std::byte> bytes, std::string where)
      : bytes_(bytes), where_(std::move(where)) {}

  std::size_t left() const { return bytes_.size(); }

  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) fail("more bytes", "only " + std::to_string(bytes_.size()));
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  // A count of things that take so many bytes each, all of which are still there.
  std::size_t get_count(std::size_t bytes_each) {
    const auto count = get<std::uint32_t>();
    if (count > left() / bytes_each)
      fail("as many entries as are announced", std::to_string(count) + " announced");
    return count;
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  std::vector<T> get_all(std::size_t count) {
    if (count > left() / sizeof(T)) fail("more bytes", "only " + std::to_string(left()));
    std::vector<T> values(count);
    const auto taken = take(count * sizeof(T));
    if (count > 0) std::memcpy(values.data(), taken.data(), taken.size());
    return values;
  }
  std::string get_text() {
    const auto taken = take(get_count(1));
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    throw Error({.what = "broken record", .where = where_, .expected = expected, .found = found});
  }

 private:
  std::span<const std::byte> bytes_;
  std::string where_;
};

}  // namespace foretoken
