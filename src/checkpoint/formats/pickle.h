#pragma once
// Pickle: Python's serialised objects, read as plain data. Not an unpickler: it imports nothing,
// calls nothing and makes no objects; a call in the stream becomes a value that says what would be
// called with what, and only callables that the reader names are let through at all. A pure
// function of the bytes: hostile bytes give an Error, never a crash, a loop or memory beyond a
// fixed multiple of their number.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

using PickleId = std::uint32_t;  // index of a value in Pickle::values

struct PickleValue {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,          // integer
    kInteger,       // integer
    kLargeInteger,  // text: its bytes, two's complement, lowest first
    kFloat,         // real
    kText,          // text
    kList,          // items
    kTuple,         // items
    kDict,          // items: key, value, key, value, ... in the order of insertion
    kGlobal,        // text: "module name"
    kCall,          // text: "module name" of the callable; items: one, the tuple of its arguments
    kPersistentId,  // items: the id
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0.0;
  std::string text = {};
  std::vector<PickleId> items = {};
};

// Values refer to each other by index, so that cycles and deep nesting cost nobody a stack.
struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
  std::size_t bytes = 0;  // from the first byte to the one after the end mark

  const PickleValue& operator[](PickleId id) const { return values[id]; }
};

// Reads the pickle that starts at the first byte (protocols 2 to 5; more bytes may follow). `where`
// names it in errors. `callables`: the globals that may occur, as "module name"; of these,
// "collections OrderedDict" is read as a dictionary. Throws Error.
Pickle read_pickle(std::span<const std::byte> bytes, std::span<const std::string_view> callables,
                   const std::string& where);

// "a list", "an integer", "a call of torch._utils _rebuild_tensor_v2", ...: for errors.
std::string describe(const PickleValue& value);

}  // namespace foretoken
