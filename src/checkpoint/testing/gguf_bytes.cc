#include "checkpoint/testing/gguf_bytes.h"

#include <iterator>

namespace foretoken {
namespace {

constexpr std::size_t kAlignment = 32;
constexpr std::uint32_t kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kText = 8, kList = 9;

void pad(std::string& bytes) {
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
}

template <typename T>
std::string list_of(std::uint32_t type, const std::vector<T>& values) {
  std::string bytes = GgufBytes::number(type) + GgufBytes::number(std::uint64_t{values.size()});
  for (const T& value : values) bytes += GgufBytes::number(value);
  return bytes;
}

}  // namespace

std::string GgufBytes::number(const void* value, std::size_t bytes) {
  return {static_cast<const char*>(value), bytes};
}

std::string GgufBytes::with_length(std::string_view text) {
  return number(std::uint64_t{text.size()}) + std::string(text);
}

GgufBytes& GgufBytes::raw(const std::string& key, std::uint32_t type, std::string_view value) {
  keys_ += with_length(key) + number(type) + std::string(value);
  ++key_count_;
  return *this;
}

GgufBytes& GgufBytes::text(const std::string& key, std::string_view value) {
  return raw(key, kText, with_length(value));
}
GgufBytes& GgufBytes::u32(const std::string& key, std::uint32_t value) {
  return raw(key, kU32, number(value));
}
GgufBytes& GgufBytes::f32(const std::string& key, float value) {
  return raw(key, kF32, number(value));
}
GgufBytes& GgufBytes::boolean(const std::string& key, bool value) {
  return raw(key, kBool, value ? std::string(1, '\1') : std::string(1, '\0'));
}
GgufBytes& GgufBytes::texts(const std::string& key, const std::vector<std::string>& values) {
  std::string list = number(kText) + number(std::uint64_t{values.size()});
  for (const std::string& value : values) list += with_length(value);
  return raw(key, kList, list);
}
GgufBytes& GgufBytes::i32s(const std::string& key, const std::vector<std::int32_t>& values) {
  return raw(key, kList, list_of(kI32, values));
}
GgufBytes& GgufBytes::f32s(const std::string& key, const std::vector<float>& values) {
  return raw(key, kList, list_of(kF32, values));
}

GgufBytes& GgufBytes::tensor(const std::string& name, std::uint32_t type,
                             const std::vector<std::int64_t>& shape, std::string_view bytes) {
  pad(data_);
  tensors_.push_back({name, type, shape, data_.size()});
  data_ += bytes;
  return *this;
}

GgufBytes& GgufBytes::floats(const std::string& name, const std::vector<std::int64_t>& shape,
                             const std::vector<float>& values) {
  return tensor(name, 0, shape, number(values.data(), values.size() * sizeof(float)));
}

GgufBytes& GgufBytes::offset_of_last(std::uint64_t offset) {
  tensors_.back().offset = offset;
  return *this;
}

std::string GgufBytes::bytes(std::uint32_t version) const {
  std::string file = "GGUF" + number(version) + number(std::uint64_t{tensors_.size()}) +
                     number(key_count_) + keys_;
  for (const Tensor& tensor : tensors_) {
    file += with_length(tensor.name) + number(static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size)
      file += number(*size);
    file += number(tensor.type) + number(tensor.offset);
  }
  pad(file);
  return file + data_;
}

}  // namespace foretoken
