#pragma once
// What tensors a checkpoint has, from the headers of its files alone: names, types, sizes. No
// weights are read. For reports.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace foretoken {

struct ListedTensor {
  std::string name;
  std::string type;  // as the format calls it
  std::int64_t elements = 0;
  std::size_t bytes = 0;
  bool is_read = true;  // the type is among those that are
};

struct TensorList {
  std::string format;  // "gguf", "safetensors", "pt"
  std::vector<ListedTensor> tensors;
};

// path: a folder or a GGUF file. Throws Error where there is no checkpoint, or a broken one.
TensorList list_tensors(const std::string& path);

// The names under which a WeightSource of that checkpoint has them (checkpoint.h); of a stack of
// experts the one that stands for all.
std::vector<std::string> source_names(const std::string& path);

}  // namespace foretoken
