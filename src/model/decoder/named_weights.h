#pragma once
// NamedWeights: tensors of another source under other names, and only those that are given one.
// Not a copy. Loading threads only.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "checkpoint/checkpoint.h"

namespace foretoken {

class NamedWeights final : public WeightSource {
 public:
  // stored: what the source calls a tensor, by its new name.
  NamedWeights(std::unique_ptr<WeightSource> source, std::map<std::string, std::string> stored)
      : source_(std::move(source)), stored_(std::move(stored)) {}

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    return has(name) ? source_->find(stored_.at(name), expected) : std::nullopt;
  }
  std::optional<GgufRows> rows(const std::string& name) const override {
    return has(name) ? source_->rows(stored_.at(name)) : std::nullopt;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, stored] : stored_) names.push_back(name);
    return names;
  }
  std::string where() const override { return source_->where(); }
  void release(const std::string& name) const override {
    if (has(name)) source_->release(stored_.at(name));
  }
  PackedCache* packed() const override { return source_->packed(); }

 private:
  bool has(const std::string& name) const { return stored_.contains(name); }

  std::unique_ptr<WeightSource> source_;
  std::map<std::string, std::string> stored_;
};

}  // namespace foretoken
