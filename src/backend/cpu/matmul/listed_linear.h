#pragma once
// ListedLinear: a matrix that is in a list of all matrices, for as long as it lives: tuning goes
// through the list. Not thread-safe: one thread at a time makes and destroys matrices of a list.

#include <memory>
#include <utility>
#include <vector>

#include "backend/cpu/matmul/packed_linear.h"

namespace foretoken {

using Linears = std::vector<CpuLinear*>;

class ListedLinear final : public CpuLinear {
 public:
  template <typename... Args>
  explicit ListedLinear(std::shared_ptr<Linears> list, Args&&... args)
      : CpuLinear(std::forward<Args>(args)...), list_(std::move(list)) {
    list_->push_back(this);
  }
  ~ListedLinear() override { std::erase(*list_, this); }
  ListedLinear(const ListedLinear&) = delete;
  ListedLinear& operator=(const ListedLinear&) = delete;

 private:
  const std::shared_ptr<Linears> list_;
};

}  // namespace foretoken
