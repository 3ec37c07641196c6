#include "invariance/wrong_ops.h"

#include <algorithm>

#include "backend/testing/delegate_test_kit.h"

namespace foretoken {
namespace {

class SplitK final : public Delegate {
 public:
  using Delegate::Delegate;
  std::string description() const override { return Delegate::description() + ", splitting K"; }
  void linear(const PackedLinear& w, Tensor x, Tensor y) override {
    if (x.dim(0) < 2) return Delegate::linear(w, x, y);
    // Inside a block of 32: between two blocks tile order has the same sums.
    const std::int64_t width = x.dim(1), cut = width / 2 + 5;
    const Tensor part = temp(DType::kF32, x.shape());
    const Tensor sum = temp(DType::kF32, y.shape());
    std::fill_n(part.f32(), part.elements(), 0.0F);
    for (std::int64_t r = 0; r < x.dim(0); ++r) std::copy_n(x.row_f32(r), cut, part.row_f32(r));
    Delegate::linear(w, part, sum);
    for (std::int64_t r = 0; r < x.dim(0); ++r) {
      std::fill_n(part.row_f32(r), cut, 0.0F);
      std::copy_n(x.row_f32(r) + cut, width - cut, part.row_f32(r) + cut);
    }
    Delegate::linear(w, part, y);
    for (std::int64_t i = 0; i < y.elements(); ++i) y.f32()[i] += sum.f32()[i];
  }
};

class KeepNothing final : public Delegate {
 public:
  using Delegate::Delegate;
  std::string description() const override { return Delegate::description() + ", keeping nothing"; }
  void kv_keep(const Walk&, const Batch&, std::span<const KvLayer>) override {}
};

class CopyNoStates final : public Delegate {
 public:
  using Delegate::Delegate;
  std::string description() const override {
    return Delegate::description() + ", copying no states";
  }
  void copy_states(std::span<const StateCopy>, std::span<const KvLayer>) override {}
};

}  // namespace

std::unique_ptr<Ops> split_k_by_rows(std::unique_ptr<Ops> inner) {
  return std::make_unique<SplitK>(std::move(inner));
}

std::unique_ptr<Ops> keep_nothing(std::unique_ptr<Ops> inner) {
  return std::make_unique<KeepNothing>(std::move(inner));
}

std::unique_ptr<Ops> copy_no_states(std::unique_ptr<Ops> inner) {
  return std::make_unique<CopyNoStates>(std::move(inner));
}

}  // namespace foretoken
