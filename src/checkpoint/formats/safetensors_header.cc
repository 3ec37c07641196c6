#include "checkpoint/formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <boost/json/value.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/json_text.h"

namespace foretoken {
namespace {

constexpr std::size_t kLengthBytes = 8;
// The limit of the reference implementation: no honest header comes near it.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

constexpr std::array<std::pair<std::string_view, DType>, 12> kDTypes{{{"F64", DType::kF64},
                                                                      {"F32", DType::kF32},
                                                                      {"F16", DType::kF16},
                                                                      {"BF16", DType::kBF16},
                                                                      {"I64", DType::kI64},
                                                                      {"I32", DType::kI32},
                                                                      {"I16", DType::kI16},
                                                                      {"I8", DType::kI8},
                                                                      {"U8", DType::kU8},
                                                                      {"BOOL", DType::kBool},
                                                                      {"F8_E4M3", DType::kF8E4M3},
                                                                      {"F8_E5M2", DType::kF8E5M2}}};

std::string at_tensor(const std::string& where, std::string_view name) {
  return where + ", tensor " + std::string(name);
}

std::string range_text(std::uint64_t begin, std::uint64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

std::uint64_t read_length(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = (length << 8) | std::to_integer<std::uint64_t>(file[i]);
  return length;
}

std::string_view header_text(std::span<const std::byte> file, const std::string& where) {
  if (file.size() < kLengthBytes)
    throw Error({"truncated safetensors file", where, "at least 8 bytes",
                 std::to_string(file.size()) + " bytes"});
  const std::uint64_t length = read_length(file);
  if (length > kMaxHeaderBytes)
    throw Error({"safetensors header is too large", where,
                 "at most " + std::to_string(kMaxHeaderBytes) + " bytes",
                 std::to_string(length) + " bytes"});
  if (length > file.size() - kLengthBytes)
    throw Error({"truncated safetensors file: the header does not fit", where,
                 std::to_string(length + kLengthBytes) + " bytes",
                 std::to_string(file.size()) + " bytes"});
  return {reinterpret_cast<const char*>(file.data()) + kLengthBytes,
          static_cast<std::size_t>(length)};
}

// The first key that occurs twice in one object of valid JSON text. JSON parsers keep one of the
// two silently; here they would be two tensors of one name.
std::optional<std::string> duplicate_key(std::string_view text) {
  std::vector<std::set<std::string_view>> keys;  // of the objects (empty sets: arrays) open here
  std::string_view last_string;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') keys.emplace_back();
    if (c == '}' || c == ']') keys.pop_back();
    if (c == ':' && !keys.back().insert(last_string).second) return std::string(last_string);
    if (c != '"') continue;
    const std::size_t begin = ++i;
    while (text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    last_string = text.substr(begin, i - begin);
  }
  return std::nullopt;
}

// A type that is not among ours is a fault only where the tensor is needed.
void parse_dtype(const FileFields& fields, StoredTensor& tensor) {
  const auto name = fields.string("dtype");
  if (!name || name->empty()) fields.refuse_missing("dtype");
  const auto* const known =
      std::ranges::find(kDTypes, *name, &std::pair<std::string_view, DType>::first);
  if (known != kDTypes.end())
    tensor.dtype = known->second;
  else
    tensor.foreign_type = *name;
}

Shape parse_shape(const FileFields& fields) {
  const boost::json::value* value = fields.find("shape");
  if (value == nullptr) fields.refuse_missing("shape");
  if (!value->is_array()) fields.refuse("shape", "a list of sizes");
  const auto dims = fields.integers("shape", {0, std::int64_t{1} << 48});
  if (dims.size() > Shape::kMaxRank)
    fields.refuse("shape", "at most " + std::to_string(Shape::kMaxRank) + " dimensions");
  return Shape(dims);
}

// Bytes that dtype and shape need; nullopt when that exceeds any file.
std::optional<std::uint64_t> needed_bytes(DType dtype, const Shape& shape) {
  std::uint64_t bytes = dtype_bytes(dtype);
  for (int i = 0; i < shape.rank(); ++i)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape[i]), &bytes) ||
        bytes > (std::uint64_t{1} << 62))
      return std::nullopt;
  return bytes;
}

StoredTensor parse_tensor(std::string_view name, const boost::json::value& value,
                          std::size_t data_begin, std::size_t data_bytes,
                          const std::string& where) {
  const std::string here = at_tensor(where, name);
  if (!value.is_object()) throw Error({"bad tensor entry", here, "an object", {}});
  const FileFields fields(value.get_object(), here);
  StoredTensor tensor;
  tensor.name = name;
  parse_dtype(fields, tensor);
  tensor.shape = parse_shape(fields);
  const auto range = fields.integers("data_offsets", {0, std::int64_t{1} << 62});
  if (range.size() != 2 || range[0] > range[1])
    fields.refuse("data_offsets", "[begin, end] with begin <= end");
  const auto begin = static_cast<std::uint64_t>(range[0]),
             end = static_cast<std::uint64_t>(range[1]);
  const auto needed = tensor.foreign_type.empty() ? needed_bytes(tensor.dtype, tensor.shape)
                                                  : std::optional(end - begin);
  if (!needed || *needed != end - begin)
    throw Error({"byte range does not match dtype and shape", here,
                 (needed ? std::to_string(*needed) + " bytes for " : "a possible size for ") +
                     std::string(dtype_name(tensor.dtype)) + " " + tensor.shape.str(),
                 std::to_string(end - begin) + " bytes at " + range_text(begin, end)});
  if (end > data_bytes)
    throw Error({"tensor ends beyond the end of the file (truncated?)", here,
                 "data within [0, " + std::to_string(data_bytes) + ")", range_text(begin, end)});
  tensor.offset = data_begin + static_cast<std::size_t>(begin);
  tensor.bytes = static_cast<std::size_t>(*needed);
  return tensor;
}

void check_coverage(const std::vector<StoredTensor>& tensors, std::size_t data_begin,
                    std::size_t file_bytes, const std::string& where) {
  std::size_t end = data_begin;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.offset != end)
      throw Error({tensor.offset < end ? "tensor overlaps the one before it"
                                       : "gap in the data before the tensor",
                   at_tensor(where, tensor.name), "data at " + std::to_string(end - data_begin),
                   std::to_string(tensor.offset - data_begin)});
    end += tensor.bytes;
  }
  if (end != file_bytes)
    throw Error({"bytes after the last tensor", where, std::to_string(end) + " bytes",
                 std::to_string(file_bytes) + " bytes"});
}

}  // namespace

std::vector<StoredTensor> parse_safetensors(std::span<const std::byte> file,
                                            const std::string& where) {
  // A copy: the file may be written to while it is read, and the text is read twice.
  const std::string text(header_text(file, where));
  const boost::json::object header = read_json_object(text, where + ", header");
  if (const auto name = duplicate_key(text))
    throw Error({"two entries of one name in the header", at_tensor(where, *name), {}, {}});
  const std::size_t data_begin = kLengthBytes + text.size();
  std::vector<StoredTensor> tensors;
  for (const auto& [name, value] : header)
    if (name != "__metadata__")
      tensors.push_back(parse_tensor(name, value, data_begin, file.size() - data_begin, where));
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  check_coverage(tensors, data_begin, file.size(), where);
  return tensors;
}

}  // namespace foretoken
