// The Vulkan backend on a device against the CPU's tile order, byte for byte. The device is llvmpipe
// (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE; skipped by name where there is none.

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/gpu_fixture_test_kit.h"
#include "backend/testing/ops_test_kit.h"
#include "backend/vulkan/arithmetic.h"
#include "base/error.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

class VulkanOpsTest : public GpuFixture {};

Tensor put_some(Ops& ops, std::int64_t kind, std::int64_t rows, std::int64_t width,
                float factor = 1) {
  return put_values(ops, some_values(kind, rows * width, factor), {rows, width});
}

// An operation on a [rows, width], b [rows, 2 * width], w [width]; what it returns is compared.
using RowOp = std::function<Tensor(Ops&, Tensor a, Tensor b, Tensor w)>;

class VulkanRows : public VulkanOpsTest {
 protected:
  void check(const RowOp& op, float factor = 5) {
    for (const std::int64_t rows : {1, 3, 70})
      for (const std::int64_t width : {1, 15, 16, 17, 129, 1000})
        expect_same(
            [&](Ops& ops) {
              begin_step(ops);
              const Tensor a = put_some(ops, 1, rows, width, factor);
              const Tensor b = put_some(ops, 2, rows, 2 * width, factor);
              const Tensor w = put_values(ops, some_values(3, width), {width});
              Rows all = read_all_rows(ops, op(ops, a, b, w));
              for (auto& row : read_all_rows(ops, a)) all.push_back(std::move(row));
              return all;
            },
            std::to_string(rows) + " x " + std::to_string(width));
  }
};

TEST_F(VulkanRows, norm) {
  check([](Ops& ops, Tensor a, Tensor, Tensor w) {
    const Tensor out = ops.temp(DType::kF32, a.shape());
    ops.norm(a, w, 1e-5F, out);
    return out;
  });
  check([](Ops& ops, Tensor a, Tensor, Tensor w) {
    ops.norm(a, w, 0.5F, a);  // in place
    return a;
  });
}

TEST_F(VulkanRows, centre) {
  check([](Ops& ops, Tensor a, Tensor, Tensor) {
    const Tensor out = ops.temp(DType::kF32, a.shape());
    ops.centre(a, out);
    ops.centre(a, a);
    ops.add(out, a);
    return out;
  });
}

TEST_F(VulkanRows, norms_of_groups) {
  check([](Ops& ops, Tensor a, Tensor b, Tensor) {
    const Tensor weight = put_values(ops, some_values(6, 2 * a.dim(1)), {2, a.dim(1)});
    ops.norm_groups(b, weight, 0.01F);
    return b;
  });
}

TEST_F(VulkanRows, add_norm) {
  check([](Ops& ops, Tensor a, Tensor b, Tensor w) {
    const Tensor out = ops.temp(DType::kF32, a.shape());
    ops.add_norm(a, Tensor(b.data(), DType::kF32, a.shape()), w, 1e-5F, out);
    return out;
  });
}

TEST_F(VulkanRows, add_scale_and_cap) {
  check([](Ops& ops, Tensor a, Tensor b, Tensor) {
    ops.add(a, Tensor(b.data(), DType::kF32, a.shape()));
    return a;
  });
  check([](Ops& ops, Tensor a, Tensor, Tensor) {
    ops.scale(a, 0.22F);
    return a;
  });
  for (const float factor : {0.01F, 5.0F, 400.0F})
    check(
        [](Ops& ops, Tensor a, Tensor, Tensor) {
          ops.soft_cap(a, 30.0F);
          return a;
        },
        factor);
}

TEST_F(VulkanRows, gated_act) {
  for (const Activation act :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGelu, Activation::kClampedSwiglu})
    for (const float factor : {0.01F, 5.0F, 60.0F})
      check(
          [act](Ops& ops, Tensor a, Tensor b, Tensor) {
            const Tensor out = ops.temp(DType::kF32, a.shape());
            ops.gated_act(b, act, out);
            return out;
          },
          factor);
}

TEST_F(VulkanRows, rows_that_are_moved) {
  check([](Ops& ops, Tensor a, Tensor b, Tensor) {
    const Tensor both = ops.temp(DType::kF32, {a.dim(0), 3 * a.dim(1)});
    ops.join_columns(a, b, both);
    return both;
  });
  check([](Ops& ops, Tensor a, Tensor b, Tensor) {
    const std::vector<std::int32_t> last(3, static_cast<std::int32_t>(a.dim(0) - 1));
    const Tensor out = put_some(ops, 4, 3, a.dim(1) + b.dim(1) + 2);
    ops.gather_columns(a, last, out, 1);
    ops.gather_columns(b, last, out, a.dim(1) + 2);
    return out;
  });
  check([](Ops& ops, Tensor a, Tensor, Tensor) {
    const auto last = static_cast<std::int32_t>(a.dim(0) - 1);
    ops.copy_rows(a, std::vector{last, 0, last}, a, std::vector{0, last, 0});  // in order
    return a;
  });
  check([](Ops& ops, Tensor a, Tensor, Tensor) {
    const auto row = static_cast<std::int32_t>(a.dim(0) - 1);
    const auto column = static_cast<std::int32_t>(a.dim(1) - 1);
    ops.add_elements(a, std::vector<Addend>{{0, 0, 1.1F}, {row, column, 0.3F}, {0, 0, 1e8F}});
    return a;
  });
}

std::vector<std::uint16_t> some_bf16(std::int64_t kind, std::int64_t count) {
  std::vector<std::uint16_t> values;
  for (const float value : some_values(kind, count, 0.3F)) values.push_back(f32_to_bf16(value));
  return values;
}

struct Matrices {
  std::vector<std::uint16_t> first, second;
  std::vector<float> bias;
  std::vector<Tensor> weights, biases;
};
Matrices matrices(std::int64_t n, std::int64_t k, bool has_bias) {
  Matrices m{some_bf16(1, n * k), some_bf16(2, n * k), some_values(3, n), {}, {}};
  m.weights = {Tensor(m.first.data(), DType::kBF16, {n, k}),
               Tensor(m.second.data(), DType::kBF16, {n, k})};
  if (has_bias) m.biases = {Tensor(), Tensor(m.bias.data(), DType::kF32, {n})};
  return m;
}

class VulkanProductsTest : public VulkanOpsTest {
 protected:
  void check(std::int64_t n, std::int64_t k, std::int64_t rows, DType dtype) {
    Matrices m = matrices(n, k, n != 5);
    expect_same(
        [&](Ops& ops) {
          const auto w = ops.pack({.weights = m.weights, .biases = m.biases, .dtype = dtype});
          EXPECT_EQ(w->out_width(), 2 * n);
          begin_step(ops);
          const Tensor y = ops.temp(DType::kF32, {rows, 2 * n});
          ops.linear(*w, put_some(ops, 4, rows, k), y);
          return read_all_rows(ops, y);
        },
        std::to_string(rows) + " x " + std::to_string(k) + " x " + std::to_string(2 * n));
  }
};

TEST_F(VulkanProductsTest, weights_of_bf16_have_the_bits_of_the_cpu) {
  for (const std::int64_t k : {1, 33, 96, 1100, 2080})
    for (const std::int64_t n : {1, 5, 64})
      for (const std::int64_t rows : {1, 2, 3, 7, 9, 40}) check(n, k, rows, DType::kBF16);
}

TEST_F(VulkanProductsTest, weights_of_fp16_and_float32_have_the_bits_of_the_cpu) {
  for (const DType dtype : {DType::kF16, DType::kF32})
    for (const std::int64_t k : {1, 33, 96, 1100})
      for (const std::int64_t n : {1, 5, 64})
        for (const std::int64_t rows : {1, 2, 3, 7, 40}) check(n, k, rows, dtype);
}

// Those that fp16 holds as denormals, not at all, and as infinities.
TEST_F(VulkanProductsTest, small_and_large_weights_of_fp16_have_the_bits_of_the_cpu) {
  std::vector<float> wide;
  for (int e = -30; e <= 18; ++e)
    for (const float m : {1.0F, -1.3F, 1.9995F}) wide.push_back(std::ldexp(m, e));
  const auto k = static_cast<std::int64_t>(wide.size());
  const Tensor matrix(wide.data(), DType::kF32, {k, 1});
  expect_same(
      [&](Ops& ops) {
        const auto w = ops.pack({.weights = {&matrix, 1}, .biases = {}, .dtype = DType::kF16});
        begin_step(ops);
        const Tensor x = put_values(ops, {0.7F}, {1, 1}), y = ops.temp(DType::kF32, {1, k});
        ops.linear(*w, x, y);
        return read_all_rows(ops, y);
      },
      "weights from 2^-30 to 2^18");
}

// Inputs that operations have already rounded, and those that were changed since.
TEST_F(VulkanOpsTest, products_read_what_was_written_last) {
  for (const std::int64_t k : {17, 64, 2100}) {
    Matrices m = matrices(k, k, false);
    expect_same(
        [&](Ops& ops) {
          const auto w = ops.pack({.weights = {m.weights.data(), 1}, .biases = {}});
          begin_step(ops);
          const std::int64_t rows = 5;
          const Tensor x = put_some(ops, 1, rows, k), both = put_some(ops, 2, rows, 2 * k);
          const Tensor weight = put_values(ops, some_values(3, k), {k}),
                       y = ops.temp(DType::kF32, {rows, k});
          Rows all;
          const auto note = [&](const Tensor& input) {
            const Tensor result = y.rows(0, input.dim(0));
            ops.linear(*w, input, result);
            for (auto& row : read_all_rows(ops, result)) all.push_back(std::move(row));
          };
          ops.norm(x, weight, 1e-5F, x);
          note(x);
          note(x.rows(0, 2));
          note(x.rows(1, 2));
          ops.scale(x, 3.0F);
          note(x);
          ops.gated_act(both, Activation::kSilu, x);
          note(x);
          ops.norm(x, weight, 1e-5F, y);
          note(x);
          ops.norm(x, weight, 1e-5F, x);
          const std::vector<float> others = some_values(4, rows * k);
          ops.upload(Tensor(const_cast<float*>(others.data()), DType::kF32, {rows, k}), x);
          note(x);
          return all;
        },
        std::to_string(k));
  }
}

TEST_F(VulkanOpsTest, a_row_has_the_same_bits_beside_any_others) {
  const std::int64_t n = 96, k = 416, rows = 37;
  Matrices m = matrices(n, k, true);
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
    const auto w = gpu_->pack({.weights = m.weights, .biases = m.biases, .dtype = dtype});
    begin_step(*gpu_);
    const Tensor x = put_some(*gpu_, 4, rows, k), y = gpu_->temp(DType::kF32, {rows, 2 * n});
    gpu_->linear(*w, x, y);
    const Rows all = read_all_rows(*gpu_, y);
    for (std::int64_t r = 0; r < rows; ++r) {
      const Tensor one = gpu_->temp(DType::kF32, {1, 2 * n});
      gpu_->linear(*w, x.rows(r, 1), one);
      expect_same_bytes(read_all_rows(*gpu_, one), {all[at(r)]}, "row " + std::to_string(r));
    }
  }
}

TEST_F(VulkanOpsTest, rows_of_tables_and_of_packed_matrices) {
  const std::vector<Token> tokens{6, 0, 3, 3};
  for (const DType half : {DType::kBF16, DType::kF16, DType::kF32})
    for (const std::int64_t k : {1, 33, 64}) {
      Matrices m = matrices(7, k, false);
      expect_same(
          [&](Ops& ops) {
            const auto w =
                ops.pack({.weights = {m.weights.data(), 1}, .biases = {}, .dtype = half});
            const auto some_rows = ops.pack_rows(*w, std::vector<Token>{5, 1, 6, 0}, half, {});
            const Tensor wide = ops.keep_rows(m.weights[1], DType::kF32);
            const Tensor narrow = ops.keep_rows(m.weights[1], half);
            const auto again = ops.pack({.weights = {&narrow, 1}, .biases = {}, .dtype = half});
            begin_step(ops);
            const Tensor out = ops.temp(DType::kF32, {20, k});
            ops.embed(*w, tokens, out.rows(0, 4));
            ops.embed(*some_rows, std::vector<Token>{0, 1, 2, 3}, out.rows(4, 4));
            ops.look_up(wide, tokens, out.rows(8, 4));
            ops.look_up(narrow, tokens, out.rows(12, 4));
            ops.embed(*again, tokens, out.rows(16, 4));
            return read_all_rows(ops, out);
          },
          std::to_string(k));
    }
}

// Larger than what small tables share.
TEST_F(VulkanOpsTest, tables_that_have_memory_of_their_own_leave_others_alone) {
  const std::int64_t rows = 1300, width = 1024;
  std::vector<float> values = some_values(3, rows * width);
  const Tensor matrix(values.data(), DType::kF32, {rows, width});
  std::vector<Token> tokens;
  for (Token row = 0; row < rows; row += 7) tokens.push_back(row);
  expect_same(
      [&](Ops& ops) {
        const Tensor small =
            ops.keep_rows(Tensor(values.data(), DType::kF32, {3, width}), DType::kF32);
        const Tensor large = ops.keep_rows(matrix, DType::kF32);
        const Tensor next =
            ops.keep_rows(Tensor(values.data(), DType::kF32, {9, width}), DType::kF32);
        begin_step(ops);
        const auto count = static_cast<std::int64_t>(tokens.size());
        const Tensor out = ops.temp(DType::kF32, {count + 4, width});
        ops.look_up(large, tokens, out.rows(0, count));
        ops.look_up(small, std::vector<Token>{2, 0}, out.rows(count, 2));
        ops.look_up(next, std::vector<Token>{8, 0}, out.rows(count + 2, 2));
        return read_all_rows(ops, out);
      },
      "tables");
}

TEST_F(VulkanOpsTest, extreme_numbers_go_the_same_way) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{0.0F, -0.0F, 1e-40F, -1e-40F, 1e-38F, 3e38F,  -3e38F,
                                  kInf, -kInf, 88.8F,  -87.4F,  -88.0F, 1e-20F, 200.0F};
  const auto n = static_cast<std::int64_t>(values.size());
  for (const Activation act : {Activation::kSilu, Activation::kGeluTanh, Activation::kGelu})
    expect_same(
        [&](Ops& ops) {
          begin_step(ops);
          std::vector<float> both = values;
          both.insert(both.end(), static_cast<std::size_t>(n), 0.5F);
          const Tensor x = put_values(ops, both, {1, 2 * n}), out = ops.temp(DType::kF32, {1, n});
          ops.gated_act(x, act, out);
          Rows rows = read_all_rows(ops, out);
          for (float& value : rows[0])
            if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
          return rows;
        },
        "activation " + std::to_string(static_cast<int>(act)));
}

TEST_F(VulkanOpsTest, addends_far_apart) {
  expect_same(
      [&](Ops& ops) {
        begin_step(ops);
        const Tensor x = put_some(ops, 9, 32, 8192, 4);
        ops.add_elements(x, std::vector<Addend>{{3, 592, 1e5F}, {0, 592, 1e5F}, {3, 592, -1e5F}});
        return read_all_rows(ops, x);
      },
      "three addends");
}

TEST_F(VulkanOpsTest, the_host_finds_what_it_reads_back) {
  const auto found = [](Ops& ops) {
    begin_step(ops);
    const Tensor logits = put_some(ops, 9, 5, 333, 4);
    TopTokens top;
    ops.top_tokens(logits, 7, top);
    ops.scale(logits, 0.0F);  // what was asked for is of before
    ops.read_back();
    return top;
  };
  const TopTokens expected = found(*cpu_), top = found(*gpu_);
  EXPECT_EQ(top.token, expected.token);
  EXPECT_EQ(top.probability, expected.probability);
}

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(VulkanOpsTest, what_it_does_not_hold_is_refused_by_name) {
  Matrices m = matrices(4, 32, false);
  const auto pack = [&](DType dtype, WeightFormat format) {
    return refusal([&] {
      gpu_->pack({.weights = m.weights, .biases = {}, .dtype = dtype, .format = format});
    });
  };
  EXPECT_EQ(pack(DType::kBF16, {}), "");
  EXPECT_EQ(pack(DType::kF16, {}), "");
  EXPECT_EQ(pack(DType::kF32, {}), "");
  EXPECT_EQ(pack(DType::kBF16, {.bits = 8}), "");
  const auto kv = [&](KvShape shape) { return refusal([&] { gpu_->alloc_kv(shape, 2); }); };
  const KvShape plain{.layers = 1, .kv_heads = 1, .head_dim = 64};
  KvShape other = plain;
  EXPECT_EQ(kv(plain), "");
  other.dtype = DType::kI8;
  EXPECT_EQ(kv(other), "");
  other.head_dim = 62;
  EXPECT_NE(kv(other).find("multiples of 4"), std::string::npos) << kv(other);
  other = plain, other.dtype = DType::kF32;
  EXPECT_EQ(kv(other), "");
  other = plain, other.has_values = false;
  EXPECT_EQ(kv(other), "");
  other = plain, other.head_dim = 1026;
  EXPECT_NE(kv(other).find("heads of 1026"), std::string::npos);
  other = plain, other.head_dim = 63, other.dtype = DType::kF16;
  EXPECT_NE(kv(other).find("heads of 63"), std::string::npos);
  EXPECT_NE(refusal([&] {
              make_backend({.device = test_device(), .gemm_order = "pair"}, *pool_);
            }).find("tile order"),
            std::string::npos);
  EXPECT_NE(refusal([&] { make_backend({.device = "vulkan:no such"}, *pool_); }).find("'no such'"),
            std::string::npos);
}

TEST_F(VulkanOpsTest, its_arithmetic_is_that_of_the_cpu) {
  VulkanContext context({.device = test_device()});
  const Arithmetic found = probe_arithmetic(context);
  EXPECT_TRUE(found.is_usable());
  EXPECT_TRUE(found.has_bits_of_cpu());
}

}  // namespace
}  // namespace foretoken
