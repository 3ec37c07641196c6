#pragma once
// GgufBytes: GGUF files made by hand, for tests: any keys and tensors, right or wrong. Not a writer
// of models.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

class GgufBytes {
 public:
  GgufBytes& text(const std::string& key, std::string_view value);
  GgufBytes& u32(const std::string& key, std::uint32_t value);
  GgufBytes& f32(const std::string& key, float value);
  GgufBytes& boolean(const std::string& key, bool value);
  GgufBytes& texts(const std::string& key, const std::vector<std::string>& values);
  GgufBytes& i32s(const std::string& key, const std::vector<std::int32_t>& values);
  GgufBytes& f32s(const std::string& key, const std::vector<float>& values);
  // A key whose type and value are given as bytes.
  GgufBytes& raw(const std::string& key, std::uint32_t type, std::string_view value);

  // shape: slowest dimension first. The tensor begins where the one before it ends.
  GgufBytes& tensor(const std::string& name, std::uint32_t type,
                    const std::vector<std::int64_t>& shape, std::string_view bytes);
  GgufBytes& floats(const std::string& name, const std::vector<std::int64_t>& shape,
                    const std::vector<float>& values);
  GgufBytes& offset_of_last(std::uint64_t offset);  // in the place of the right one

  std::string bytes(std::uint32_t version = 3) const;

  static std::string number(const void* value, std::size_t bytes);
  template <typename T>
  static std::string number(T value) {
    return number(&value, sizeof value);
  }
  static std::string with_length(std::string_view text);

 private:
  struct Tensor {
    std::string name;
    std::uint32_t type;
    std::vector<std::int64_t> shape;
    std::uint64_t offset;
  };

  std::string keys_;
  std::uint64_t key_count_ = 0;
  std::vector<Tensor> tensors_;
  std::string data_;
};

}  // namespace foretoken
