#pragma once
// A WeightSource of a test's own: tensors by name, each filled with one value at first.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/index.h"
#include "checkpoint/checkpoint.h"
#include "tensor/buffer.h"

namespace foretoken {

class TensorSource : public WeightSource {
 public:
  std::optional<Tensor> find(const std::string& name, const Shape&) const override {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return std::nullopt;
    return found->second.memory.view(found->second.dtype, found->second.shape);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, entry] : tensors_) names.push_back(name);
    return names;
  }
  std::string where() const override { return "folder"; }

  template <typename T>
  void put(const std::string& name, DType dtype, Shape shape, T value) {
    Entry& entry = tensors_[name];
    entry = {Buffer(at(shape.elements()) * sizeof(T)), dtype, shape};
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      static_cast<T*>(entry.memory.data())[i] = value;
  }
  template <typename T>
  void set(const std::string& name, std::int64_t i, T value) {
    static_cast<T*>(tensors_[name].memory.data())[i] = value;
  }
  void drop(const std::string& name) { tensors_.erase(name); }

 private:
  struct Entry {
    Buffer memory;
    DType dtype = DType::kF32;
    Shape shape;
  };
  std::map<std::string, Entry> tensors_;
};

}  // namespace foretoken
