// The row operations of the CPU backend under every instruction set of this machine against the
// reference backend, and their promise of equal bits; the factory of backends.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/ops_test_kit.h"

namespace foretoken::ops_test {
namespace {

// An operation over rows [rows, width]; b is [rows, 2 * width].
using RowOp = std::function<void(Ops&, Tensor a, Tensor b, Tensor weight, Tensor out)>;

Rows run_rows(Ops& ops, const RowOp& op, std::int64_t rows, std::int64_t width) {
  constexpr float kGuard = -77.0F;
  Batch batch;
  ops.layout({}, DraftTrees(1, 1), SeqTable(1), batch);
  Tensor a = ops.temp(DType::kF32, {rows, width}), b = ops.temp(DType::kF32, {rows, 2 * width});
  Tensor weight = ops.temp(DType::kF32, {width});
  Tensor all = ops.temp(DType::kF32, {rows + 2, width});
  for (std::int64_t i = 0; i < a.elements(); ++i) a.f32()[i] = value_of(1, 0, i);
  for (std::int64_t i = 0; i < b.elements(); ++i) b.f32()[i] = 5.0F * value_of(2, 0, i);
  for (std::int64_t i = 0; i < width; ++i) weight.f32()[i] = value_of(3, 0, i);
  std::fill_n(all.f32(), all.elements(), kGuard);
  const Tensor out = all.rows(1, rows);
  op(ops, a, b, weight, out);
  Rows result;
  for (std::int64_t r = 0; r < rows; ++r) {
    result.emplace_back(out.row_f32(r), out.row_f32(r) + width);
    result.emplace_back(a.row_f32(r), a.row_f32(r) + width);
  }
  for (std::int64_t i = 0; i < width; ++i) {
    EXPECT_EQ(all.row_f32(0)[i], kGuard);
    EXPECT_EQ(all.row_f32(rows + 1)[i], kGuard);
  }
  return result;
}

// relative: allowed error in units of 2^-24 of the largest magnitude that enters an element (10 *
// 2).
void check_row_op(const RowOp& op, double ulps) {
  for (const std::int64_t rows : {1, 3, 70})
    for (const std::int64_t width : {1, 15, 16, 17, 129, 1000}) {
      const std::string what = std::to_string(rows) + " x " + std::to_string(width);
      const Rows expected = run_rows(*machine("reference", 1).ops, op, rows, width);
      const Rows first = run_rows(*machine("scalar", 1).ops, op, rows, width);
      expect_near(first, expected, ulps * 0x1p-24 * 20.0, what);
      for (const std::string& isa : cpu_isas())
        expect_same_bytes(run_rows(*machine(isa, 3).ops, op, rows, width), first, isa + " " + what);
    }
}

// The sum of n squares in sixteen chains is off by at most n / 16 + 4 roundings, the root by half
// as much; the root of a single small value magnifies nothing because x stands above it too. Of a
// smaller epsilon nothing would be seen.
TEST(Rows, norm) {
  check_row_op([](Ops& ops, Tensor a, Tensor, Tensor w, Tensor out) { ops.norm(a, w, 0.5F, out); },
               1000.0 / 32 + 8);
}

TEST(Rows, centre) {
  check_row_op([](Ops& ops, Tensor a, Tensor, Tensor, Tensor out) { ops.centre(a, out); },
               1000.0 / 16 + 8);
}

// Squares of a group only are summed, and its weights are its own.
TEST(Rows, norm_groups) {
  for (const std::int64_t groups : {2, 3})
    check_row_op(
        [groups](Ops& ops, Tensor a, Tensor b, Tensor, Tensor out) {
          const std::int64_t width = std::max<std::int64_t>(1, a.dim(1) / groups);
          const std::int64_t many = a.dim(1) / width, rest = a.dim(1) - many * width;
          std::copy_n(a.f32(), a.elements(), out.f32());
          if (rest != 0) return;
          const Tensor weight(b.f32(), DType::kF32, {many, width});
          ops.norm_groups(out, weight, 0.5F);
          for (std::int64_t g = 0; g < many; ++g) {
            const Tensor part = ops.temp(DType::kF32, {1, width});
            std::copy_n(a.f32() + g * width, width, part.f32());
            ops.norm(part, Tensor(weight.row_f32(g), DType::kF32, {width}), 0.5F, part);
            EXPECT_EQ(std::memcmp(part.f32(), out.f32() + g * width, part.bytes()), 0);
          }
        },
        5.0 * (1000.0 / 32 + 8));
}

TEST(Rows, add_norm) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor b, Tensor w, Tensor out) {
        const Tensor delta(b.f32(), DType::kF32, {a.dim(0), a.dim(1)});
        ops.add_norm(a, delta, w, 0.5F, out);
      },
      1000.0 / 32 + 8);
}

TEST(Rows, add) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor b, Tensor, Tensor out) {
        ops.add(a, Tensor(b.f32(), DType::kF32, {a.dim(0), a.dim(1)}));
        std::copy_n(a.f32(), a.elements(), out.f32());
      },
      0.0);
}

TEST(Rows, gated_act) {
  for (const Activation act :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGelu, Activation::kClampedSwiglu})
    check_row_op(
        [act](Ops& ops, Tensor, Tensor b, Tensor, Tensor out) { ops.gated_act(b, act, out); },
        10.0 * 6);
}

TEST(Rows, gated_act_of_extreme_gates) {
  for (const std::string& isa : cpu_isas()) {
    const Machine m = machine(isa, 1);
    std::vector<float> gate_up{-200.0F, 200.0F, -1e30F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F};
    std::vector<float> out(4);
    for (const Activation act : {Activation::kSilu, Activation::kGeluTanh, Activation::kGelu}) {
      m.ops->gated_act(Tensor(gate_up.data(), DType::kF32, {1, 8}), act,
                       Tensor(out.data(), DType::kF32, {1, 4}));
      EXPECT_EQ(out, (std::vector<float>{0.0F, 200.0F, 0.0F, 0.0F})) << isa;
    }
    gate_up[5] = 100.0F;  // both factors are cut at 7
    m.ops->gated_act(Tensor(gate_up.data(), DType::kF32, {1, 8}), Activation::kClampedSwiglu,
                     Tensor(out.data(), DType::kF32, {1, 4}));
    EXPECT_FLOAT_EQ(out[0], 0.0F) << isa;
    EXPECT_NEAR(out[1], 7.0 / (1.0 + std::exp(-1.702 * 7)) * 8, 1e-5) << isa;
  }
}

TEST(Rows, scale) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor, Tensor, Tensor out) {
        ops.scale(a, 0.22F);
        std::copy_n(a.f32(), a.elements(), out.f32());
      },
      0.0);
}

// Values within +-10, of which some are near the cap and some far beyond it.
TEST(Rows, soft_cap) {
  for (const float cap : {0.5F, 3.0F, 50.0F})
    check_row_op(
        [cap](Ops& ops, Tensor, Tensor b, Tensor, Tensor out) {
          std::copy_n(b.f32(), out.elements(), out.f32());
          ops.soft_cap(out, cap);
          for (std::int64_t i = 0; i < out.elements(); ++i)
            EXPECT_NEAR(out.f32()[i], cap * std::tanh(b.f32()[i] / cap), cap * 1e-6F);
        },
        4.0);
}

// The norm of a block's result is taken in its place.
TEST(Rows, norm_in_place) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor, Tensor w, Tensor out) {
        std::copy_n(a.f32(), a.elements(), out.f32());
        ops.norm(out, w, 0.5F, out);
        const Tensor apart = ops.temp(DType::kF32, out.shape());
        ops.norm(a, w, 0.5F, apart);
        EXPECT_EQ(std::memcmp(apart.f32(), out.f32(), out.bytes()), 0);
      },
      1000.0 / 32 + 8);
}

TEST(Rows, gather_rows) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor, Tensor, Tensor out) {
        std::vector<std::int32_t> rows;
        for (std::int64_t r = a.dim(0); r > 0; --r)
          rows.push_back(static_cast<std::int32_t>(r - 1));
        ops.gather_rows(a, rows, out);
      },
      0.0);
}

TEST(Rows, copy_rows) {
  check_row_op(
      [](Ops& ops, Tensor a, Tensor b, Tensor, Tensor out) {
        std::vector<std::int32_t> forth, back;
        for (std::int64_t r = 0; r < a.dim(0); ++r) {
          forth.push_back(static_cast<std::int32_t>(r));
          back.push_back(static_cast<std::int32_t>(a.dim(0) - 1 - r));
        }
        ops.copy_rows(a, forth, out, back);
        const Tensor narrow(b.f32(), DType::kF32, {a.dim(0), a.dim(1)});
        ops.copy_rows(narrow, {back.data(), 1}, out, {forth.data(), 1});
      },
      0.0);
}

TEST(Rows, top_tokens) {
  for (const std::int64_t vocab : {3, 64, 100, 1000})
    for (const int k : {1, 4, 20}) {
      std::vector<float> logits(at(2 * vocab));
      for (std::int64_t i = 0; i < vocab; ++i) {
        logits[at(i)] = std::round(value_of(5, 0, i) * 4);  // many equal ones
        logits[at(vocab + i)] = 3 * value_of(6, 1, i);
      }
      logits[1] = std::numeric_limits<float>::quiet_NaN();
      const Tensor rows(logits.data(), DType::kF32, {2, vocab});
      TopTokens expected, found;
      machine("reference", 1).ops->top_tokens(rows, k, expected);
      for (const std::string& isa : cpu_isas()) {
        machine(isa, 2).ops->top_tokens(rows, k, found);
        EXPECT_EQ(found.token, expected.token) << isa << ", " << k << " of " << vocab;
        // The first row's sum is no number.
        for (std::size_t i = at(k); i < expected.probability.size(); ++i)
          EXPECT_NEAR(found.probability[i], expected.probability[i], 1e-6) << isa;
      }
    }
}

// Weights [out, in] of a dtype, packed by a machine.
std::unique_ptr<PackedLinear> pack(Ops& ops, DType dtype, std::int64_t out, std::int64_t first,
                                   std::int64_t in) {
  std::vector<float> w(at(out * in));
  for (std::int64_t n = 0; n < out; ++n)
    for (std::int64_t k = 0; k < in; ++k) w[at(n * in + k)] = value_of(4, n, first + k);
  const Tensor weight(w.data(), DType::kF32, {out, in});
  return ops.pack({.weights = std::span(&weight, 1), .biases = {}, .dtype = dtype});
}

TEST(Rows, embed_reads_rows_exactly) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    for (const std::int64_t width : {5, 33, 64}) {
      const std::vector<Token> tokens{0, 36, 7, 7};
      const auto run = [&](const Machine& m) {
        const auto table = pack(*m.ops, dtype, 37, 0, width);
        std::vector<float> out(tokens.size() * at(width));
        m.ops->embed(*table, tokens, Tensor(out.data(), DType::kF32, {4, width}));
        return Rows{out};
      };
      const Rows expected = run(machine("reference", 1));
      for (const std::string& isa : cpu_isas())
        expect_same_bytes(run(machine(isa, 2)), expected, isa);
    }
}

TEST(Rows, kept_rows_are_the_rows_that_are_packed) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    for (const std::int64_t width : {5, 33, 64}) {
      std::vector<float> w(at(37 * width));
      for (std::size_t i = 0; i < w.size(); ++i)
        w[i] = value_of(4, 9, static_cast<std::int64_t>(i)) * (i % 7 == 0 ? 1e-39F : 1.0F);
      const Tensor weight(w.data(), DType::kF32, {37, width});
      const std::vector<Token> tokens{0, 36, 7, 7};
      auto names = cpu_isas();
      names.push_back("reference");
      for (const std::string& name : names) {
        const Machine m = machine(name, 2);
        const auto packed =
            m.ops->pack({.weights = std::span(&weight, 1), .biases = {}, .dtype = dtype});
        const Tensor rows = m.ops->keep_rows(weight, dtype);
        expect(rows, {37, width}, dtype);
        Rows expected{std::vector<float>(tokens.size() * at(width))}, found = expected;
        m.ops->embed(*packed, tokens, Tensor(expected[0].data(), DType::kF32, {4, width}));
        m.ops->look_up(rows, tokens, Tensor(found[0].data(), DType::kF32, {4, width}));
        expect_same_bytes(found, expected, name + ", " + std::string(dtype_name(dtype)));
      }
    }
}

TEST(Rows, linear_agrees_with_the_reference) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
    for (const std::int64_t in : {7, 64, 161})
      for (const std::int64_t rows : {1, 5, 40}) {
        const auto run = [&](const Machine& m) {
          const auto w = pack(*m.ops, dtype, 45, 0, in);
          std::vector<float> x(at(rows * in)), y(at(rows * 45));
          for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = value_of(6, 6, static_cast<std::int64_t>(i));
          m.ops->linear(*w, Tensor(x.data(), DType::kF32, {rows, in}),
                        Tensor(y.data(), DType::kF32, {rows, 45}));
          return Rows{y};
        };
        // A sum of `in` products of at most 4 each, in any order.
        const double bound = static_cast<double>(in * in) * 4.0 * 0x1p-24;
        const Rows expected = run(machine("reference", 2));
        for (const std::string& isa : cpu_isas())
          expect_near(run(machine(isa, 2)), expected, bound, isa);
      }
}

// Three heads in wider columns: each has the bits of its own product, whatever rows are beside it,
// and columns that are no head's stay.
TEST(Rows, products_of_heads_are_products_of_their_columns) {
  constexpr std::int64_t kHeads = 3, kOut = 45, kWider = 4;
  auto names = cpu_isas();
  names.push_back("reference");
  for (const std::string& name : names)
    for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
      for (const std::int64_t in : {7, 64, 161})
        for (const std::int64_t rows : {1, 5, 70}) {
          const Machine m = machine(name, 3, name == "scalar" ? "tile" : "pair");
          std::vector<std::unique_ptr<PackedLinear>> w;
          for (std::int64_t h = 0; h < kHeads; ++h) w.push_back(pack(*m.ops, dtype, kOut, h, in));
          const std::int64_t x_step = in + kWider, y_step = kOut + kWider;
          std::vector<float> x(at(rows * kHeads * x_step)), y(at(rows * kHeads * y_step), -7.0F);
          for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = value_of(6, 6, static_cast<std::int64_t>(i));
          m.ops->linear_heads(w, Tensor(x.data(), DType::kF32, {rows, kHeads * x_step}),
                              Tensor(y.data(), DType::kF32, {rows, kHeads * y_step}));
          Rows found, expected;
          for (std::int64_t h = 0; h < kHeads; ++h)
            for (std::int64_t r = 0; r < rows; ++r) {
              const auto first = y.begin() + (r * kHeads + h) * y_step;
              found.emplace_back(first, first + y_step);
              std::vector<float> alone(at(y_step), -7.0F);
              m.ops->linear(*w[at(h)],
                            Tensor(&x[at((r * kHeads + h) * x_step)], DType::kF32, {1, in}),
                            Tensor(alone.data(), DType::kF32, {1, kOut}));
              expected.push_back(alone);
            }
          expect_same_bytes(found, expected, name + ", " + std::to_string(rows) + " rows");
        }
}

// Matrices of several parts, with a bias, without one and with one again.
TEST(Rows, stacked_matrices_keep_their_own_biases) {
  constexpr std::int64_t kIn = 40, kRows = 3;
  const std::vector<std::int64_t> outs{20, 10, 15};
  std::vector<float> w(at(45 * kIn)), b(45), x(at(kRows * kIn));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = value_of(4, 4, static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = value_of(5, 5, static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = value_of(6, 6, static_cast<std::int64_t>(i));
  std::vector<Tensor> weights, biases;
  for (std::int64_t part = 0, n = 0; part < 3; n += outs[at(part++)]) {
    weights.emplace_back(&w[at(n * kIn)], DType::kF32, Shape{outs[at(part)], kIn});
    biases.push_back(part == 1 ? Tensor() : Tensor(&b[at(n)], DType::kF32, {outs[at(part)]}));
  }
  Rows expected(kRows, std::vector<float>(45));
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t n = 0; n < 45; ++n) {
      double sum = n >= 20 && n < 30 ? 0.0 : b[at(n)];
      for (std::int64_t k = 0; k < kIn; ++k)
        sum += static_cast<double>(w[at(n * kIn + k)]) * x[at(r * kIn + k)];
      expected[at(r)][at(n)] = static_cast<float>(sum);
    }
  auto names = cpu_isas();
  names.push_back("reference");
  for (const std::string& name : names) {
    const Machine m = machine(name, 2);
    const auto packed = m.ops->pack({.weights = weights, .biases = biases, .dtype = DType::kF32});
    std::vector<float> y(at(kRows * 45));
    m.ops->linear(*packed, Tensor(x.data(), DType::kF32, {kRows, kIn}),
                  Tensor(y.data(), DType::kF32, {kRows, 45}));
    Rows found;
    for (std::int64_t r = 0; r < kRows; ++r)
      found.emplace_back(y.begin() + r * 45, y.begin() + (r + 1) * 45);
    expect_near(found, expected, kIn * kIn * 4.0 * 0x1p-24, name);
  }
}

// The negative control of every test of equal bits above: a sum that two workers share is seen.
TEST(Rows, splitting_k_would_be_noticed) {
  constexpr std::int64_t kIn = 256, kOut = 64;
  const Machine m = machine("auto", 2);
  std::vector<float> x(kIn), whole(kOut), left(kOut), right(kOut);
  for (std::int64_t i = 0; i < kIn; ++i) x[at(i)] = value_of(6, 6, i);
  const auto linear = [&](std::int64_t first, std::int64_t in, std::vector<float>& y) {
    const auto w = pack(*m.ops, DType::kBF16, kOut, first, in);
    m.ops->linear(*w, Tensor(x.data() + first, DType::kF32, {1, in}),
                  Tensor(y.data(), DType::kF32, {1, kOut}));
  };
  linear(0, kIn, whole);
  linear(0, kIn / 2, left);
  linear(kIn / 2, kIn / 2, right);
  for (std::int64_t i = 0; i < kOut; ++i) left[at(i)] += right[at(i)];
  EXPECT_NE(std::memcmp(left.data(), whole.data(), kOut * sizeof(float)), 0);
  expect_near({left}, {whole}, 1e-3, "the split sum is the same sum");
}

// ---- the factory --------------------------------------------------------------------------------

TEST(Backend, unknown_names_are_refused) {
  ThreadPool pool(1);
  EXPECT_THROW(make_backend({.device = "abacus"}, pool), Error);
  EXPECT_THROW(make_backend({.cpu_isa = "mmx"}, pool), Error);
  EXPECT_THROW(make_backend({.gemm_order = "random"}, pool), Error);
}

TEST(Backend, the_description_names_what_was_chosen) {
  EXPECT_EQ(machine("scalar", 1).ops->description(), "cpu scalar, pair order, 1 threads");
}

// Absent instruction sets appear by name in the report of the tests.
TEST(Backend, instruction_sets_of_this_machine) {
  const std::vector<std::string> isas = cpu_isas();
  std::string missing;
  for (const std::string isa : {"avx2", "avx512", "avx512_bf16", "amx"})
    if (std::find(isas.begin(), isas.end(), isa) == isas.end()) missing += " " + isa;
  if (!missing.empty()) GTEST_SKIP() << "not tested, because this machine lacks it:" << missing;
}

}  // namespace
}  // namespace foretoken::ops_test
