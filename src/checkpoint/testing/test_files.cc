#include "checkpoint/testing/test_files.h"

namespace foretoken {

TestTensor test_tensor(const std::string& name, const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 8.0F;
  return {name, "F32", shape,
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return bytes + header + data;
}

std::string safetensors_bytes(const std::vector<TestTensor>& tensors, int padding) {
  std::string header = R"({"__metadata__":{"format":"pt"})", data;
  for (const TestTensor& tensor : tensors) {
    header += ",\"" + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
      header += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    header += R"(],"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.bytes.size()) + "]}";
    data += tensor.bytes;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8 + static_cast<std::size_t>(padding), ' ');
  return safetensors_bytes(header, data);
}

}  // namespace foretoken
