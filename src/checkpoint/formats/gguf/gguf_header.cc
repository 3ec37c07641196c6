#include "checkpoint/formats/gguf/gguf_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

using Type = GgufValue::Type;

constexpr std::uint64_t kUsualAlignment = 32;
constexpr std::uint32_t kMostDimensions = 4;
constexpr std::uint64_t kLongestName = 1 << 16;  // of a key or tensor
// A file of 2^56 bytes is none: what an offset or a size beyond it says is nonsense.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 56;

// Bytes of an element by its type; 0: of no fixed size.
constexpr std::array<std::uint64_t, 13> kElementBytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Takes numbers and texts from the front of the bytes that are left.
class Reader {
 public:
  Reader(std::span<const std::byte> file, const std::string& where)
      : left_(file), size_(file.size()), where_(where) {}

  std::span<const std::byte> take(std::uint64_t bytes, const std::string& what) {
    if (bytes > left_.size()) refuse_end(what, bytes);
    const auto taken = left_.first(static_cast<std::size_t>(bytes));
    left_ = left_.subspan(taken.size());
    return taken;
  }

  template <typename T>
  T number(const std::string& what) {
    T value{};
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  std::string_view text(const std::string& what) {
    const auto length = number<std::uint64_t>(what);
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::string name(const std::string& what) {
    const std::string_view name = text(what);
    if (name.size() > kLongestName)
      refuse(what + " is too long", "at most " + std::to_string(kLongestName) + " bytes",
             std::to_string(name.size()));
    return std::string(name);
  }

  std::size_t position() const { return size_ - left_.size(); }
  std::size_t left() const { return left_.size(); }
  const std::string& where() const { return where_; }

  [[noreturn]] void refuse(std::string what, std::string expected, std::string found) const {
    throw Error({"bad GGUF file: " + std::move(what),
                 where_ + ", byte " + std::to_string(position()), std::move(expected),
                 std::move(found)});
  }

 private:
  // A header that was cut off asks for little more than there is; more than a file has is nonsense.
  [[noreturn]] void refuse_end(const std::string& what, std::uint64_t wanted) const {
    const std::string found = std::to_string(left_.size()) + " left of " + std::to_string(size_);
    if (wanted < kMostBytes)
      throw Error({"the GGUF file ends inside its header: the download is not complete, or a " +
                       std::string("length in it is wrong"),
                   where_ + ", " + what, std::to_string(wanted) + " bytes", found});
    refuse(what + " has an impossible length", "a length within the file",
           std::to_string(wanted) + " bytes");
  }

  std::span<const std::byte> left_;
  std::size_t size_;
  const std::string& where_;
};

void check_version(Reader& reader) {
  if (reader.left() < 4 || std::memcmp(reader.take(4, "the magic number").data(), "GGUF", 4) != 0)
    throw Error({"not a GGUF file", reader.where(), "a file that begins with GGUF", "other bytes"});
  const auto version = reader.number<std::uint32_t>("the version");
  if (version == 2 || version == 3) return;
  const std::uint32_t swapped = __builtin_bswap32(version);
  const bool is_swapped = swapped >= 1 && swapped <= 3;
  reader.refuse(
      is_swapped ? "it is written for big-endian machines" : "its version is not read",
      "version 2 or 3, little-endian",
      std::to_string(is_swapped ? swapped : version) + (is_swapped ? ", big-endian" : ""));
}

// Each takes at least `least` bytes of what is left.
std::uint64_t read_count(Reader& reader, const std::string& what, std::uint64_t least) {
  const auto count = reader.number<std::uint64_t>("the number of " + what);
  if (count > kMostBytes / least)
    reader.refuse("an impossible number of " + what, "as many as the file has bytes for",
                  std::to_string(count));
  return count;
}

Type read_type(Reader& reader, const std::string& what) {
  const auto number = reader.number<std::uint32_t>(what);
  if (number >= kElementBytes.size())
    reader.refuse(what + " has an unknown type", "0 to 12", std::to_string(number));
  return static_cast<Type>(number);
}

GgufValue read_value(Reader& reader, const std::string& what) {
  GgufValue value{.type = read_type(reader, what), .bytes = {}};
  if (value.type == Type::kArray) {
    value.is_array = true;
    value.type = read_type(reader, what);
    value.count = reader.number<std::uint64_t>(what);
    if (value.type == Type::kArray)
      reader.refuse(what + " is a list of lists", "a list of numbers or texts", "type 9 (list)");
  }
  const std::uint64_t element = kElementBytes[static_cast<std::size_t>(value.type)];
  const std::uint64_t least = element == 0 ? 8 : element;  // a text has at least its length
  if (value.count > kMostBytes / least)
    reader.refuse(what + " has an impossible length", "a length within the file",
                  std::to_string(value.count) + " elements");
  if (element > 0) {
    value.bytes = reader.take(value.count * element, what);
    return value;
  }
  Reader texts = reader;
  for (std::uint64_t i = 0; i < value.count; ++i) texts.text(what);
  value.bytes = reader.take(texts.position() - reader.position(), what);
  return value;
}

// Bytes that type and sizes need.
std::uint64_t needed_bytes(const Reader& reader, const GgufTensor& tensor) {
  const std::string what = "tensor " + tensor.name;
  std::int64_t elements = 1;
  for (int i = 0; i < tensor.shape.rank(); ++i)
    if (__builtin_mul_overflow(elements, tensor.shape[i], &elements) ||
        static_cast<std::uint64_t>(elements) > kMostBytes)
      reader.refuse(what + " is impossibly large", "a size that a file can have",
                    tensor.shape.str());
  const int block = tensor.type->block_elements;
  if (tensor.shape[tensor.shape.rank() - 1] % block != 0)
    reader.refuse(what + " has rows of broken blocks",
                  "rows of whole blocks of " + std::to_string(block) + " elements (" +
                      std::string(tensor.type->name) + ")",
                  tensor.shape.str());
  return static_cast<std::uint64_t>(tensor.type->bytes_of(elements));
}

GgufTensor read_tensor(Reader& reader) {
  GgufTensor tensor;
  tensor.name = reader.name("a tensor's name");
  const std::string what = "tensor " + tensor.name;
  const auto rank = reader.number<std::uint32_t>(what);
  if (rank < 1 || rank > kMostDimensions)
    reader.refuse(what + " has a bad number of dimensions", "1 to 4", std::to_string(rank));
  std::array<std::int64_t, kMostDimensions> sizes{};
  for (std::uint32_t i = rank; i-- > 0;) {
    const auto size = reader.number<std::uint64_t>(what);
    if (size < 1 || size > kMostBytes)
      reader.refuse(what + " has an impossible size", "1 to 2^56", std::to_string(size));
    sizes[i] = static_cast<std::int64_t>(size);
  }
  tensor.shape = Shape(std::span(sizes).first(rank));
  const auto number = reader.number<std::uint32_t>(what);
  tensor.type = gguf_type(number);
  if (tensor.type == nullptr || tensor.type->block_elements == 0)
    reader.refuse(
        what + " has a type that is not known", std::string(gguf_types_read()),
        tensor.type == nullptr ? "type " + std::to_string(number) : std::string(tensor.type->name));
  const auto offset = reader.number<std::uint64_t>(what);
  if (offset > kMostBytes)
    reader.refuse(what + " has an impossible offset", "one within the file",
                  std::to_string(offset));
  tensor.offset = static_cast<std::size_t>(offset);
  tensor.bytes = static_cast<std::size_t>(needed_bytes(reader, tensor));
  return tensor;
}

std::uint64_t alignment_of(const GgufMetadata& metadata) {
  const auto alignment = metadata.integer("general.alignment");
  if (!alignment) return kUsualAlignment;
  if (*alignment < 1 || *alignment > (1 << 20) ||
      !std::has_single_bit(static_cast<std::uint64_t>(*alignment)))
    metadata.refuse("general.alignment", "a power of 2 up to 2^20", std::to_string(*alignment));
  return static_cast<std::uint64_t>(*alignment);
}

std::uint64_t aligned(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

[[noreturn]] void refuse_tensor(const std::string& where, const GgufTensor& tensor,
                                std::string what, std::string expected, std::string found) {
  throw Error({"bad GGUF file: " + std::move(what), where + ", tensor " + tensor.name,
               std::move(expected), std::move(found)});
}

// Offsets are from the beginning of the data here. True where each tensor begins where the one
// before it ends, as writers lay them.
bool check_order(const std::vector<GgufTensor>& tensors, std::uint64_t alignment,
                 const std::string& where) {
  std::uint64_t end = 0;
  bool is_dense = true;
  for (const GgufTensor& tensor : tensors) {
    if (tensor.offset % alignment != 0)
      refuse_tensor(where, tensor, "the tensor is not aligned",
                    "an offset that " + std::to_string(alignment) + " divides",
                    std::to_string(tensor.offset));
    if (tensor.offset < end)
      refuse_tensor(where, tensor, "the tensor overlaps the one before it",
                    "an offset from " + std::to_string(end), std::to_string(tensor.offset));
    is_dense = is_dense && tensor.offset == aligned(end, alignment);
    end = tensor.offset + tensor.bytes;
  }
  return is_dense;
}

// Makes offsets those from the beginning of the file.
void place(std::vector<GgufTensor>& tensors, std::uint64_t data_begin, std::uint64_t file_bytes,
           bool is_dense, const std::string& where) {
  for (GgufTensor& tensor : tensors) tensor.offset += data_begin;
  if (tensors.empty()) return;
  const std::uint64_t end = tensors.back().offset + tensors.back().bytes;
  if (end <= file_bytes) return;
  if (is_dense)
    throw Error({"the GGUF file is cut short: the download is not complete", where,
                 std::to_string(end) + " bytes", std::to_string(file_bytes) + " bytes"});
  const auto outside = std::ranges::find_if(
      tensors, [&](const GgufTensor& tensor) { return tensor.offset + tensor.bytes > file_bytes; });
  refuse_tensor(where, *outside, "the tensor lies beyond the end of the file",
                "data within " + std::to_string(file_bytes) + " bytes",
                std::to_string(outside->bytes) + " bytes at " + std::to_string(outside->offset));
}

}  // namespace

GgufHeader parse_gguf(std::span<const std::byte> file, const std::string& where) {
  static_assert(std::endian::native == std::endian::little);
  Reader reader(file, where);
  check_version(reader);
  const std::uint64_t tensors = read_count(reader, "tensors", 24);
  const std::uint64_t keys = read_count(reader, "keys", 13);

  GgufHeader header{.metadata = GgufMetadata(where), .tensors = {}};
  for (std::uint64_t i = 0; i < keys; ++i) {
    std::string key = reader.name("key " + std::to_string(i));
    const GgufValue value = read_value(reader, "key " + key);
    if (!header.metadata.add(key, value)) reader.refuse("two values of one key", "one", key);
  }
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < tensors; ++i) header.tensors.push_back(read_tensor(reader));
  for (const GgufTensor& tensor : header.tensors)
    if (!names.insert(tensor.name).second)
      refuse_tensor(where, tensor, "two tensors of one name", {}, {});

  const std::uint64_t alignment = alignment_of(header.metadata);
  std::ranges::stable_sort(header.tensors, {}, &GgufTensor::offset);
  const bool is_dense = check_order(header.tensors, alignment, where);
  place(header.tensors, aligned(reader.position(), alignment), file.size(), is_dense, where);
  return header;
}

}  // namespace foretoken
