#pragma once
// The weights of a tiny model as a checkpoint that is quantized already has them: tensors that are
// made when they are asked for, and floats for all else.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/index.h"
#include "invariance/tiny_models.h"
#include "tensor/buffer.h"

namespace foretoken {

class StoredSource : public WeightSource {
 public:
  explicit StoredSource(const TinyModel& model) : floats_(tiny_weights(model)) {}

  std::vector<std::string> names() const override { return {"model.norm.weight"}; }
  std::string where() const override { return floats_->where() + " as it is stored"; }

 protected:
  const WeightSource& floats() const { return *floats_; }

  // A tensor whose i-th number is value(i). The same name may be asked for in several shapes.
  template <typename T, typename Value>
  Tensor made(const std::string& name, DType dtype, const Shape& shape, const Value& value) const {
    Buffer& buffer = made_[name + shape.str()];
    if (buffer.bytes() == 0) buffer = Buffer(at(shape.elements()) * sizeof(T));
    auto* values = static_cast<T*>(buffer.data());
    for (std::int64_t i = 0; i < shape.elements(); ++i) values[i] = value(i);
    return buffer.view(dtype, shape);
  }

 private:
  std::unique_ptr<WeightSource> floats_;
  mutable std::map<std::string, Buffer> made_;  // views of them are out there
};

}  // namespace foretoken
