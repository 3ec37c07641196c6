// The kernel of docs/develop/add_a_kernel.md: a product in pair order as plain loops, checked and
// run as a kernel of this machine's would be.

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/matmul/gemm.h"
#include "backend/cpu/select/kernel_check.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

// The weight of output `col` at k: blocks of 32 outputs, [K/32][2 halves][16 pairs][16 outputs][2].
float weight(const GemmCall& call, int col, int k) {
  const char* block = static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes;
  const auto* values = reinterpret_cast<const std::uint16_t*>(block);
  const int half = k / kBlockK * 2 + col % kBlockCols / 16;
  return bf16_to_f32(values[half * 512 + k % kBlockK / 2 * 32 + col % 16 * 2 + k % 2]);
}

// One output in pair order: one chain, in each pair the odd k before the even one.
float pair_sum(const GemmCall& call, int row, int col) {
  const float* x = static_cast<const float*>(call.x) + row * call.x_stride;
  float sum = 0;
  for (int k = 0; k < call.k; k += 2) {
    sum = std::fma(weight(call, col, k + 1), x[k + 1], sum);
    sum = std::fma(weight(call, col, k), x[k], sum);
  }
  return sum;
}

void run_plain(const GemmCall& call) {
  for (int row = 0; row < call.rows; ++row)
    for (int col = 0; col < call.cols; ++col) {
      const float sum = pair_sum(call, row, col);
      call.y[row * call.y_stride + col] = call.bias == nullptr ? sum : sum + call.bias[col];
    }
}

GemmKernels plain_pair_gemm() {
  GemmKernels kernels = scalar_kernels().bf16_pair;  // reads the same input
  kernels.run = run_plain;
  return kernels;
}

TEST(AddAKernel, it_has_the_bits_of_its_order) {
  EXPECT_TRUE(reproduces(plain_pair_gemm(), scalar_kernels().bf16_pair));
}

TEST(AddAKernel, another_order_is_refused) {
  EXPECT_FALSE(reproduces(plain_pair_gemm(), scalar_kernels().bf16_tile));
}

// y of random bf16 weights and input, as a product of the engine computes it.
std::vector<float> multiply(const KernelTable& table, int rows, std::int64_t in, std::int64_t out) {
  ThreadPool pool(2, false);
  const auto value = [](std::int64_t i) { return std::sin(static_cast<float>(i)); };
  std::vector<float> weights, x, y(at(rows * out));
  for (std::int64_t i = 0; i < out * in; ++i) weights.push_back(value(i));
  for (std::int64_t i = 0; i < rows * in; ++i) x.push_back(value(3 * i + 1));
  const Tensor matrix(weights.data(), DType::kF32, {out, in});
  const CpuLinear packed({.weights = {&matrix, 1}, .biases = {}}, pool);
  Gemm gemm(table, GemmOrder::kPair, pool);
  gemm.run(packed, x.data(), rows, y.data());
  return y;
}

TEST(AddAKernel, it_computes_a_product_of_any_shape) {
  KernelTable table = scalar_kernels();
  table.bf16_pair = plain_pair_gemm();
  for (const int rows : {1, 3, 40})
    EXPECT_EQ(multiply(table, rows, 70, 50), multiply(scalar_kernels(), rows, 70, 50)) << rows;
}

}  // namespace
}  // namespace foretoken
