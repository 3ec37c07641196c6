#include "backend/cpu/experts/expert_mixer.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/index.h"

namespace foretoken {
namespace {

// Rows of a prompt that are sorted together. With more, experts share more rows; with fewer, the
// buffers between the products are smaller.
constexpr std::int64_t kMostRows = 512;

const CpuLinear& packed(const PackedLinear* w) { return static_cast<const CpuLinear&>(*w); }

float* room(Buffer& buffer, std::int64_t rows, std::int64_t width) {
  const std::size_t bytes = at(rows * width) * sizeof(float);
  if (buffer.bytes() < bytes) buffer = Buffer(bytes);
  return static_cast<float*>(buffer.data());
}

}  // namespace

std::size_t ExpertMixer::workspace_bytes(const ForwardSize& size) {
  const std::int64_t rows = std::min(size.rows, kMostRows) * size.chosen_experts;
  return at(rows * (2 * size.hidden + 3 * size.expert_intermediate)) * sizeof(float);
}

void ExpertMixer::run(std::span<const ExpertLinears> experts, Activation act, const Tensor& x,
                      const Tensor& chosen, const Tensor& weights, const Tensor& out) {
  for (std::int64_t first = 0; first < x.dim(0); first += kMostRows) {
    const std::int64_t rows = std::min(kMostRows, x.dim(0) - first);
    run_some(experts, act, x.rows(first, rows), chosen.rows(first, rows), weights.rows(first, rows),
             out.rows(first, rows));
  }
}

// A counting sort, stable.
void ExpertMixer::sort_rows(std::span<const std::int32_t> chosen, std::size_t experts) {
  begin_.assign(experts + 1, 0);
  for (const std::int32_t expert : chosen) ++begin_[at(expert) + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<int> next(begin_.begin(), begin_.end() - 1);
  place_.clear();
  for (const std::int32_t expert : chosen) place_.push_back(next[at(expert)]++);
}

void ExpertMixer::run_some(std::span<const ExpertLinears> experts, Activation act, const Tensor& x,
                           const Tensor& chosen, const Tensor& weights, const Tensor& out) {
  const std::int64_t rows = x.dim(0), each = chosen.dim(1), width = x.dim(1);
  const std::int64_t inner = experts[0].down->in_width(), sorted = rows * each;
  const std::span chosen_by_row(static_cast<const std::int32_t*>(chosen.data()), at(sorted));
  sort_rows(chosen_by_row, experts.size());
  const auto each_place = [&](const auto& body) {
    pool_.parallel_for(static_cast<int>(sorted), [&](int i, int) { body(i); });
  };

  const float* inputs = x.f32();  // of a single row all experts have the same
  if (rows > 1) {
    float* const copies = room(inputs_, sorted, width);
    each_place([&](int i) {
      std::memcpy(copies + place_[at(i)] * width, x.row_f32(i / each), at(width) * sizeof(float));
    });
    inputs = copies;
  }
  const auto multiply = [&](auto matrix, const float* from, std::int64_t from_width, float* to,
                            std::int64_t to_width) {
    products_.clear();
    for (std::size_t e = 0; e < experts.size(); ++e)
      if (const int count = begin_[e + 1] - begin_[e]; count > 0)
        products_.push_back({.w = &packed(experts[e].*matrix),
                             .x = from + begin_[e] * from_width,
                             .rows = count,
                             .y = to + begin_[e] * to_width});
    gemm_.run_many(products_);
  };
  float* const both = room(both_, sorted, 2 * inner);
  float* const gated = room(gated_, sorted, inner);
  float* const outputs = room(outputs_, sorted, width);
  multiply(&ExpertLinears::gate_up, inputs, rows > 1 ? width : 0, both, 2 * inner);
  each_place([&](int i) {
    const float* const gate = both + i * 2 * inner;
    kernels_.gated_act[static_cast<std::size_t>(act)](gate, gate + inner, inner, gated + i * inner);
  });
  multiply(&ExpertLinears::down, gated, inner, outputs, width);
  pool_.parallel_for(static_cast<int>(rows), [&](int r, int) {
    float* const sum = out.row_f32(r);
    for (std::int64_t j = 0; j < each; ++j) {
      float* const part = outputs + place_[at(r * each + j)] * width;
      kernels_.scale(part, width, weights.row_f32(r)[j]);
      if (j == 0)
        std::memcpy(sum, part, at(width) * sizeof(float));
      else
        kernels_.add(sum, part, width);
    }
  });
}

}  // namespace foretoken
