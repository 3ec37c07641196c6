#pragma once
// Helpers of this folder's tests: safetensors bytes made by hand, and the text of the Error that a
// call throws.

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace foretoken {

struct TestTensor {
  std::string name;
  std::string dtype;  // as safetensors writes it
  std::vector<std::int64_t> shape;
  std::string bytes;
};

// A float32 tensor with values 0, 1, 2, ... / 8.
TestTensor test_tensor(const std::string& name, const std::vector<std::int64_t>& shape);

// Length, header and data; `padding` spaces after the header shift the data.
std::string safetensors_bytes(const std::vector<TestTensor>& tensors, int padding = 0);
// The same around a header given as text.
std::string safetensors_bytes(const std::string& header, const std::string& data);

// What the Error thrown by `call` says; empty when it throws none.
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace foretoken
