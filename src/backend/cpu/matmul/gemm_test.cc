// Every bf16, fp16 and float32 GEMM kernel that this machine can run against loops that spell out
// the orders of addition, byte for byte.
#include "backend/cpu/matmul/gemm.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/select/select_kernels.h"
#include "backend/cpu/testing/amx_model.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

// ---- The definition -----------------------------------------------------------------------------

float tile_order(const float* x, const float* w, int k) {
  float acc = 0.0F;
  for (int block = 0; block < k; block += 32) {
    float even = 0.0F, odd = 0.0F;
    for (int i = block; i < block + 32; i += 2) {
      even = std::fma(x[i], w[i], even);
      odd = std::fma(x[i + 1], w[i + 1], odd);
    }
    const float sum = even + odd;
    acc = acc + sum;
  }
  return acc;
}

float pair_order(const float* x, const float* w, int k) {
  float acc = 0.0F;
  for (int i = 0; i < k; i += 2) {
    acc = std::fma(x[i + 1], w[i + 1], acc);
    acc = std::fma(x[i], w[i], acc);
  }
  return acc;
}

float chain_order(const float* x, const float* w, int k) {
  float acc = 0.0F;
  for (int i = 0; i < k; ++i) acc = std::fma(x[i], w[i], acc);
  return acc;
}

// ---- Material -----------------------------------------------------------------------------------

enum class Values { kNormal, kExtreme };

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  // kExtreme: exponents over the whole range, so that products are denormal or overflow, denormal
  // operands, infinities and NaNs.
  float value(Values kind) {
    const float unit = std::normal_distribution<float>()(engine_);
    if (kind == Values::kNormal) return unit * std::ldexp(1.0F, below(12) - 6);
    switch (below(8)) {
      case 0:
        return std::bit_cast<float>(static_cast<std::uint32_t>(engine_()));
      case 1:
        return std::bit_cast<float>(static_cast<std::uint32_t>(engine_()) & 0x807fffffU);
      case 2:
        return unit * std::ldexp(1.0F, below(250) - 125);
      default:
        return unit * std::ldexp(1.0F, below(20) - 72);  // products near the least normal number
    }
  }

 private:
  std::mt19937_64 engine_;
};

std::uint32_t bits(float a) {
  return std::isnan(a) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(a);  // any NaN is the NaN
}

float through(DType dtype, float value) {
  if (dtype == DType::kBF16) return bf16_to_f32(f32_to_bf16(value));
  if (dtype == DType::kF16) return f16_to_f32(f32_to_f16(value));
  return value;
}

struct Problem {
  DType dtype = DType::kBF16;
  GemmOrder order = GemmOrder::kTile;
  int rows = 1, in = 1, out = 1;
  bool has_bias = false;
  std::vector<float> x, weights, bias;
  std::vector<float> expected;  // [rows, out]

  Problem(DType dtype, GemmOrder order, int rows, int in, int out)
      : dtype(dtype), order(order), rows(rows), in(in), out(out) {}

  void fill(Random& random, Values kind) {
    has_bias = random.below(2) == 1;
    x.resize(size(rows) * size(in));
    weights.resize(size(out) * size(in));
    bias.resize(size(out));
    for (float& v : x) v = random.value(kind);
    for (float& v : weights) v = random.value(kind);
    for (float& v : bias) v = random.value(Values::kNormal);
  }

  // Rounds the operands as the contract says, pads K with zeros, applies the definition.
  void define() {
    const FlushDenormals flush;
    const int padded = round_up(in, kBlockK);
    std::vector<float> a(size(padded)), b(size(out) * size(padded));
    for (int n = 0; n < out; ++n)
      for (int k = 0; k < in; ++k)
        b[size(n) * size(padded) + size(k)] = through(dtype, weights[size(n) * size(in) + size(k)]);
    expected.assign(size(rows) * size(out), 0.0F);
    for (int r = 0; r < rows; ++r) {
      for (int k = 0; k < in; ++k) {
        const float v = x[size(r) * size(in) + size(k)];
        a[size(k)] = dtype == DType::kBF16 ? through(DType::kBF16, v) : v;
      }
      for (int n = 0; n < out; ++n) {
        const float* w = &b[size(n) * size(padded)];
        float y = dtype != DType::kBF16       ? chain_order(a.data(), w, in)
                  : order == GemmOrder::kTile ? tile_order(a.data(), w, padded)
                                              : pair_order(a.data(), w, padded);
        if (has_bias) y = y + bias[size(n)];
        expected[size(r) * size(out) + size(n)] = y;
      }
    }
  }

  CpuLinear pack(ThreadPool& pool) {
    const Tensor weight(weights.data(), DType::kF32, {out, in});
    const Tensor bias_view(bias.data(), DType::kF32, {out});
    const std::vector<Tensor> w{weight}, b{bias_view};
    LinearParts parts{.weights = w, .biases = {}, .dtype = dtype};
    if (has_bias) parts.biases = b;
    return CpuLinear(parts, pool);
  }

  static std::size_t size(int n) { return static_cast<std::size_t>(n); }
};

// Runs the kernel between sentinels and counts the outputs that differ from `expected`.
int differences(const Problem& p, const CpuLinear& w, Gemm& gemm, int first_row, int rows) {
  constexpr std::size_t kGuard = 64;
  const float sentinel = std::bit_cast<float>(0xdeadbeefU);
  std::vector<float> y(2 * kGuard + Problem::size(rows * p.out), sentinel);
  gemm.run(w, p.x.data() + std::ptrdiff_t{first_row} * p.in, rows, y.data() + kGuard);
  int wrong = 0;
  for (std::size_t i = 0; i < kGuard; ++i)
    if (bits(y[i]) != bits(sentinel) || bits(y[y.size() - 1 - i]) != bits(sentinel)) ++wrong;
  for (int i = 0; i < rows * p.out; ++i)
    if (bits(y[kGuard + Problem::size(i)]) !=
        bits(p.expected[Problem::size(first_row * p.out + i)]))
      ++wrong;
  return wrong;
}

// ---- Each kernel --------------------------------------------------------------------------------

struct Kernel {
  std::string table;  // an ISA, or "amx_model"
  DType dtype;
  GemmOrder order;
};

std::string kernel_name(const testing::TestParamInfo<Kernel>& info) {
  const std::string name = info.param.table + "_";
  if (info.param.dtype == DType::kF16) return name + "fp16_weights";
  if (info.param.dtype == DType::kF32) return name + "fp32_weights";
  return name + std::string(gemm_order_name(info.param.order)) + "_order";
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> kernels;
  for (const Isa isa : {Isa::kScalar, Isa::kNeon, Isa::kAvx2, Isa::kAvx512}) {
    if (!is_of_family(isa)) continue;
    const std::string table(isa_name(isa));
    kernels.push_back({table, DType::kBF16, GemmOrder::kTile});
    kernels.push_back({table, DType::kBF16, GemmOrder::kPair});
    kernels.push_back({table, DType::kF16, GemmOrder::kTile});
    kernels.push_back({table, DType::kF32, GemmOrder::kTile});
  }
  if (is_of_family(Isa::kAmx)) {
    kernels.push_back({"avx512_bf16", DType::kBF16, GemmOrder::kPair});
    kernels.push_back({"amx", DType::kBF16, GemmOrder::kTile});
  }
  kernels.push_back({"amx_model", DType::kBF16, GemmOrder::kTile});
  return kernels;
}

class GemmKernelTest : public testing::TestWithParam<Kernel> {
 protected:
  void SetUp() override {
    if (GetParam().table == "amx_model") return;
    for (const Isa isa : kAllIsas)
      if (GetParam().table == isa_name(isa) && !has_isa(detect_cpu(), isa))
        GTEST_SKIP() << "this machine lacks " << GetParam().table;
  }
  Gemm make_gemm(ThreadPool& pool) {
    const bool is_model = GetParam().table == "amx_model";
    const KernelTable table =
        is_model ? amx_model_kernels() : select_kernels(select_isa(GetParam().table, detect_cpu()));
    return Gemm(table, GetParam().order, pool);
  }
  Problem problem(int rows, int in, int out) {
    return Problem(GetParam().dtype, GetParam().order, rows, in, out);
  }
};

TEST_P(GemmKernelTest, random_shapes_equal_the_definition) {
  ThreadPool pool(3, false);
  Gemm gemm = make_gemm(pool);
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    const int rows = 1 + random.below(70), in = 1 + random.below(1300), out = 1 + random.below(150);
    Problem p = problem(rows, in, out);
    p.fill(random, Values::kNormal);
    p.define();
    const CpuLinear w = p.pack(pool);
    ASSERT_EQ(differences(p, w, gemm, 0, rows), 0) << rows << " x " << in << " x " << out;
  }
}

TEST_P(GemmKernelTest, every_row_count_equals_the_definition) {
  ThreadPool pool(3, false);
  Gemm gemm = make_gemm(pool);
  Random random(2);
  Problem p = problem(70, 1056, 80);
  p.fill(random, Values::kNormal);
  p.define();
  const CpuLinear w = p.pack(pool);
  for (int rows = 1; rows <= p.rows; ++rows)
    ASSERT_EQ(differences(p, w, gemm, p.rows - rows, rows), 0) << rows << " rows";
}

TEST_P(GemmKernelTest, denormal_huge_infinite_and_nan_operands_equal_the_definition) {
  ThreadPool pool(3, false);
  Gemm gemm = make_gemm(pool);
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    // Few products per output, or all outputs are NaN.
    Problem p = problem(1 + random.below(40), 1 + random.below(10), 1 + random.below(100));
    p.fill(random, Values::kExtreme);
    p.define();
    const CpuLinear w = p.pack(pool);
    ASSERT_EQ(differences(p, w, gemm, 0, p.rows), 0) << p.rows << " x " << p.in << " x " << p.out;
  }
}

TEST_P(GemmKernelTest, a_row_alone_equals_the_row_in_a_batch_on_any_thread_count) {
  Random random(4);
  Problem p = problem(37, 2080, 200);
  p.fill(random, Values::kNormal);
  p.expected.assign(Problem::size(p.rows * p.out), 0.0F);
  ThreadPool one(1, false), three(3, false);
  const CpuLinear w = p.pack(three);
  Gemm alone = make_gemm(one), together = make_gemm(three);
  alone.run(w, p.x.data(), p.rows, p.expected.data());
  EXPECT_EQ(differences(p, w, together, 0, p.rows), 0);
  for (const int row : {0, 1, 17, 36}) EXPECT_EQ(differences(p, w, together, row, 1), 0) << row;
}

INSTANTIATE_TEST_SUITE_P(Kernels, GemmKernelTest, testing::ValuesIn(all_kernels()), kernel_name);

}  // namespace
}  // namespace foretoken
