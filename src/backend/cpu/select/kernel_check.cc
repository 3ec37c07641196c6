#include "backend/cpu/select/kernel_check.h"

#include <bit>
#include <cstring>
#include <vector>

#include "backend/cpu/attention/attention_items.h"
#include "base/index.h"
#include "base/rng.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

constexpr int kRows = 17, kCols = kBlockCols, kK = 4 * kBlockK;

std::uint32_t random_bits(std::uint64_t seed, std::int64_t i) {
  return static_cast<std::uint32_t>(mix_seed(seed, static_cast<std::uint64_t>(i)));
}

// A sign, a mantissa, and an exponent in the middle of the range or, now and then, next to zero.
std::uint32_t random_float(std::uint32_t bits) {
  const std::uint32_t exponent = bits % 8 == 0 ? bits / 8 % 4 : 60 + bits / 8 % 10;
  return (bits & 0x807fffffU) | (exponent << 23);
}

// Weights of one block, which takes all of the buffer.
std::vector<float> multiply(const GemmKernels& kernels, const std::vector<float>& x,
                            const Buffer& weights, const CodeLayout& codes = {}) {
  const std::int64_t stride = kK + kernels.x_row_extra;
  const int padded_rows = round_up(kRows, kernels.row_step);
  const Buffer packed(static_cast<std::size_t>(padded_rows * stride * kernels.x_bytes));
  kernels.pack_x({.x = x.data(),
                  .k = kK,
                  .packed = packed.data(),
                  .x_stride = stride,
                  .rows = kRows,
                  .packed_k = kK,
                  .group = kK,
                  .zero = codes.bits == 0 ? 0 : 1 << (codes.bits - 1)});
  std::vector<float> y(std::size_t{kRows} * kCols);
  kernels.run({.weights = weights.data(),
               .block_bytes = static_cast<std::int64_t>(weights.bytes()),
               .k = kK,
               .x = packed.data(),
               .x_stride = stride,
               .y = y.data(),
               .y_stride = kCols,
               .bias = nullptr,
               .rows = kRows,
               .cols = kCols,
               .codes = codes});
  return y;
}

constexpr int kScaleBytes = kCols * 4;

CodeLayout layout_of_bits(int bits) {
  const int scales_at = kCols * kK * bits / 8;
  return {.bits = bits,
          .group = kK,
          .groups = 1,
          .step = kCodeStepK,
          .unit_bytes = scales_at + kScaleBytes,
          .scales_at = scales_at,
          .zeros_at = 0,
          .scale = CodeScale::kF32,
          .is_float = false};
}

constexpr int kQueries = 40, kHeadDim = 64, kPositions = 200;

// Attention of the last rows of a text whose pages lie one behind the other.
std::vector<float> attend(void (*kernel)(const AttnItem&)) {
  constexpr int kPages = (kPositions + kAttnSlots - 1) / kAttnSlots;
  constexpr int kElements = kPages * kAttnSlots * kHeadDim;
  const Buffer k(kElements * 2), v(kElements * 2);
  const auto fill = [](const Buffer& to, std::uint64_t seed) {
    for (int i = 0; i < kElements; ++i)
      static_cast<std::uint16_t*>(to.data())[i] =
          static_cast<std::uint16_t>(random_float(random_bits(seed, i)) >> 16);
  };
  fill(k, 5);
  fill(v, 6);
  std::vector<float> q(std::size_t{kQueries} * kHeadDim), out(q.size());
  for (std::size_t i = 0; i < q.size(); ++i)
    q[i] =
        0x1p62F * std::bit_cast<float>(random_float(random_bits(7, static_cast<std::int64_t>(i))));
  std::vector<std::int32_t> pages;
  for (int p = 0; p < kPages; ++p) pages.push_back(p);
  std::vector<AttnRow> rows;
  for (int r = 0; r < kQueries; ++r)
    rows.push_back({.position = kPositions - kQueries + r, .first = 0, .nodes = 0});
  AttentionItems sizes(kAttnMaxQueries);
  sizes.shape.head_dim = kHeadDim;
  const Buffer scratch(sizes.scratch_floats() * sizeof(float));
  kernel({.k = k.data(),
          .v = v.data(),
          .q = q.data(),
          .out = out.data(),
          .row_stride = kHeadDim,
          .out_stride = kHeadDim,
          .pages = pages.data(),
          .page_stride = kHeadDim * kAttnSlots,
          .head_dim = kHeadDim,
          .value_dim = kHeadDim,
          .group = 1,
          .scale = 0x1p58F,
          .rows = rows.data(),
          .first = 0,
          .count = kQueries,
          .tree_start = kPositions,
          .first_span = 0,
          .end_span = 1,
          .partial = nullptr,
          .scratch = static_cast<float*>(scratch.data())});
  return out;
}

}  // namespace

bool reproduces_attention(void (*candidate)(const AttnItem&), void (*definition)(const AttnItem&)) {
  const FlushDenormals flush;
  const std::vector<float> a = attend(candidate), b = attend(definition);
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool reproduces_codes(const GemmKernels& candidate, const GemmKernels& definition, int only) {
  const FlushDenormals flush;
  std::vector<float> x(std::size_t{kRows} * kK);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] =
        static_cast<float>(static_cast<std::int32_t>(random_bits(3, static_cast<std::int64_t>(i))));
  for (const int bits : {8, 4}) {
    if (only != 0 && bits != only) continue;
    const CodeLayout codes = layout_of_bits(bits);
    const Buffer weights(static_cast<std::size_t>(codes.unit_bytes));
    auto* bytes = static_cast<std::uint8_t*>(weights.data());
    for (int i = 0; i < codes.scales_at; ++i)
      bytes[i] = static_cast<std::uint8_t>(random_bits(4, i));
    for (int i = 0; i < kCols; ++i) {
      const float scale = 1.0F + static_cast<float>(i);
      std::memcpy(bytes + codes.scales_at + i * 4, &scale, sizeof scale);
    }
    const auto a = multiply(candidate, x, weights, codes);
    const auto b = multiply(definition, x, weights, codes);
    if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) return false;
  }
  return true;
}

bool reproduces(const GemmKernels& candidate, const GemmKernels& definition) {
  const FlushDenormals flush;
  const Buffer weights(std::size_t{kCols} * kK * 2);
  auto* bits = static_cast<std::uint16_t*>(weights.data());
  for (int i = 0; i < kCols * kK; ++i)
    bits[i] = static_cast<std::uint16_t>(random_float(random_bits(1, i)) >> 16);
  std::vector<float> x(std::size_t{kRows} * kK);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::bit_cast<float>(random_float(random_bits(2, static_cast<std::int64_t>(i))));

  const std::vector<float> a = multiply(candidate, x, weights);
  const std::vector<float> b = multiply(definition, x, weights);
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace foretoken
