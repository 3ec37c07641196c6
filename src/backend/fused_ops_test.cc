// Operations that join several steps give the bits of the steps one by one, on every instruction
// set, in both orders, for widths that they can join and widths that they cannot.
#include <cmath>
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/ops_test_kit.h"
#include "backend/testing/reversed_rows_test_kit.h"

namespace foretoken::fused_ops_test {
namespace {

constexpr int kRows[] = {1, 2, 5, 16, 17, 40, 150, 200};  // many enough for wide calls

struct Shape3 {
  int heads, kv_heads, head_dim, hidden, intermediate;
};
constexpr Shape3 kShapes[] = {
    {18, 6, 64, 96, 384}, {2, 1, 128, 64, 224}, {3, 3, 32, 48, 96}, {4, 2, 16, 40, 72}};

std::vector<float> values(std::int64_t count, int seed) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.7 + seed * 1.3));
  return out;
}

// How weights and KV are kept.
struct Kinds {
  DType dtype, kv;
  WeightFormat format = {};
};
const std::vector<Kinds> kKinds{
    {DType::kBF16, DType::kBF16},
    {DType::kF16, DType::kF16},
    {DType::kF32, DType::kF32},
    {DType::kBF16, DType::kI8},
    {DType::kF32, DType::kF8E4M3},
    {DType::kBF16, DType::kBF16, {.bits = 8, .rounds_input = true}},
    {DType::kBF16, DType::kBF16, {.bits = 4, .group = 32, .scale = DType::kBF16}},
    {DType::kBF16,
     DType::kBF16,
     {.bits = 4, .group = 32, .scale = DType::kBF16, .has_column_order = true}}};

// Two ways to compute the same, on one machine.
class Joined {
 public:
  Joined(const std::string& isa, const std::string& order, const Shape3& shape, const Kinds& kinds)
      : machine_(machine(isa, 3, order)), shape_(shape), kinds_(kinds) {}

  Ops& ops() { return *machine_.ops; }

  std::unique_ptr<PackedLinear> pack(std::int64_t in, std::vector<std::int64_t> outs, bool has_bias,
                                     int seed) {
    std::vector<Tensor> weights, biases;
    for (const std::int64_t out : outs) {
      weights.push_back(rows(static_cast<int>(out), in, ++seed));
      const Tensor bias = rows(1, out, ++seed);
      biases.push_back(has_bias ? Tensor(bias.f32(), DType::kF32, {out}) : Tensor());
    }
    LinearParts parts{
        .weights = weights, .biases = biases, .dtype = kinds_.dtype, .format = kinds_.format};
    std::deque<ReversedRows> reversed;
    std::vector<const CodedRows*> codes;
    if (kinds_.format.has_column_order) {
      for (const Tensor& matrix : weights)
        codes.push_back(&reversed.emplace_back(matrix, kinds_.format));
      parts.weights = {};
      parts.codes = codes;
    }
    return ops().pack(parts);
  }

  // Sequences of 7 rows on pages of their own, in reverse.
  Batch batch(int rows) const {
    Batch batch;
    for (int first = 0; first < rows; first += 7) {
      const int count = std::min(7, rows - first);
      batch.seqs.push_back({.slot = 0,
                            .first_row = first,
                            .rows = count,
                            .base = 0,
                            .chain = count,
                            .first_page = static_cast<std::int32_t>(batch.pages.size()),
                            .num_pages = 1,
                            .is_chain = true});
      const PageId page = kPages - 1 - static_cast<PageId>(batch.pages.size());
      batch.pages.push_back(page);
      for (int i = 0; i < count; ++i) {
        batch.token.push_back(0);
        batch.position.push_back(i);
        batch.seq.push_back(static_cast<std::int32_t>(batch.seqs.size()) - 1);
        batch.kv_slot.push_back(i == 3 ? -1 : page * kPageTokens + i);
        batch.mask.push_back(0);
      }
    }
    batch.rows = rows;
    return batch;
  }

  KvLayer kv() {
    return ops().alloc_kv(
        {.layers = 1, .kv_heads = shape_.kv_heads, .head_dim = shape_.head_dim, .dtype = kinds_.kv},
        kPages)[0];
  }

  RopeTable rope() {
    const std::int64_t half = shape_.head_dim / 2;
    RopeTable table{ops().alloc(DType::kF32, {8, half}), ops().alloc(DType::kF32, {8, half}),
                    shape_.head_dim};
    for (std::int64_t i = 0; i < 8 * half; ++i) {
      table.cos.f32()[i] = std::cos(static_cast<float>(i));
      table.sin.f32()[i] = std::sin(static_cast<float>(i));
    }
    return table;
  }

  Tensor rows(int count, std::int64_t width, int seed) {
    const Tensor x = ops().alloc(DType::kF32, {count, width});
    const auto some = values(count * width, seed);
    std::copy(some.begin(), some.end(), x.f32());
    return x;
  }

  AttentionShape attention() const {
    return {.heads = shape_.heads,
            .kv_heads = shape_.kv_heads,
            .head_dim = shape_.head_dim,
            .scale = 0.1F};
  }

  static constexpr PageId kPages = 40;

 private:
  Machine machine_;
  const Shape3 shape_;
  const Kinds kinds_;
};

bool same_bits(Tensor a, Tensor b) {
  return a.empty() ? b.empty() : std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

class FusedOps : public testing::TestWithParam<Shape3> {
 protected:
  template <typename Body>
  void each_machine(const Body& body) {
    for (const std::string& isa : cpu_isas())
      for (const char* order : {"tile", "pair"})
        for (const Kinds& kinds : kKinds) {
          SCOPED_TRACE(isa + " " + order + " " + std::string(dtype_name(kinds.dtype)) + ", KV " +
                       std::string(dtype_name(kinds.kv)) + ", " +
                       std::to_string(kinds.format.bits) + " bits" +
                       (kinds.format.has_column_order ? " in reverse" : ""));
          Joined joined(isa, order, GetParam(), kinds);
          for (const int rows : kRows) {
            SCOPED_TRACE(rows);
            body(joined, rows);
          }
        }
  }
};

TEST_P(FusedOps, gated_mlp) {
  const auto [heads, kv_heads, dim, hidden, intermediate] = GetParam();
  each_machine([&](Joined& joined, int rows) {
    const auto gate_up = joined.pack(hidden, {intermediate, intermediate}, true, 1);
    const auto down = joined.pack(intermediate, {hidden}, false, 5);
    const Tensor x = joined.rows(rows, hidden, 5), found = joined.rows(rows, hidden, 6),
                 expected = joined.rows(rows, hidden, 7);
    for (const Activation act : {Activation::kSilu, Activation::kGeluTanh, Activation::kGelu,
                                 Activation::kClampedSwiglu}) {
      joined.ops().gated_mlp(*gate_up, *down, act, x, found);
      joined.ops().Ops::gated_mlp(*gate_up, *down, act, x, expected);
      EXPECT_TRUE(same_bits(found, expected));
    }
  });
}

TEST_P(FusedOps, project_qkv) {
  const auto [heads, kv_heads, dim, hidden, intermediate] = GetParam();
  each_machine([&](Joined& joined, int rows) {
    const std::int64_t q = std::int64_t{heads} * dim, kv = std::int64_t{kv_heads} * dim;
    const auto w = joined.pack(hidden, {q, kv, kv}, true, 1);
    const Tensor x = joined.rows(rows, hidden, 5);
    const Tensor weight = joined.rows(1, dim, 8);
    const Tensor norm(weight.f32(), DType::kF32, {dim});
    const RopeTable rope = joined.rope();
    const Batch batch = joined.batch(rows);
    for (const QkNorm& qk_norm : {QkNorm{}, QkNorm{norm, norm, 1e-5F}, QkNorm{{}, norm, 1e-5F}}) {
      const KvLayer kv_found = joined.kv(), kv_expected = joined.kv();
      const Tensor found = joined.rows(rows, heads * dim, 6),
                   expected = joined.rows(rows, heads * dim, 7);
      joined.ops().project_qkv(*w, x, rope, qk_norm, joined.attention(), batch, kv_found, found);
      joined.ops().Ops::project_qkv(*w, x, rope, qk_norm, joined.attention(), batch, kv_expected,
                                    expected);
      EXPECT_TRUE(same_bits(found, expected));
      EXPECT_TRUE(same_bits(kv_found.k, kv_expected.k));
      EXPECT_TRUE(same_bits(kv_found.v, kv_expected.v));
      EXPECT_TRUE(same_bits(kv_found.k_scale, kv_expected.k_scale));
      EXPECT_TRUE(same_bits(kv_found.v_scale, kv_expected.v_scale));
    }
  });
}

TEST_P(FusedOps, attend) {
  const auto [heads, kv_heads, dim, hidden, intermediate] = GetParam();
  each_machine([&](Joined& joined, int rows) {
    const auto o = joined.pack(heads * dim, {hidden}, false, 1);
    const KvLayer kv = joined.kv();
    if (kv.k.dtype() == DType::kF32) {
      for (std::int64_t i = 0; i < kv.k.elements(); ++i) {
        kv.k.f32()[i] = std::sin(static_cast<float>(i));
        kv.v.f32()[i] = std::cos(static_cast<float>(i));
      }
    } else if (!kv.k_scale.empty()) {
      for (std::int64_t i = 0; i < kv.k.elements(); ++i) {
        static_cast<std::uint8_t*>(kv.k.data())[i] = static_cast<std::uint8_t>(i % 100);
        static_cast<std::uint8_t*>(kv.v.data())[i] = static_cast<std::uint8_t>(i % 90);
      }
      for (std::int64_t i = 0; i < kv.k_scale.elements(); ++i) {
        kv.k_scale.f32()[i] = 0.01F * static_cast<float>(1 + i % 7);
        kv.v_scale.f32()[i] = 0.02F * static_cast<float>(1 + i % 5);
      }
    } else {  // any finite numbers
      for (std::int64_t i = 0; i < kv.k.elements(); ++i) {
        static_cast<std::uint16_t*>(kv.k.data())[i] = static_cast<std::uint16_t>(0x3c00 + i % 500);
        static_cast<std::uint16_t*>(kv.v.data())[i] = static_cast<std::uint16_t>(0x3b00 + i % 700);
      }
    }
    Batch batch = joined.batch(rows);
    if (rows == 2) {  // long enough that several workers share a row
      batch.seqs[0].base = 600;
      batch.seqs[0].num_pages = Joined::kPages;
      for (PageId page = 1; page < Joined::kPages; ++page) batch.pages.push_back(page);
    }
    const Tensor q = joined.rows(rows, heads * dim, 5), found = joined.rows(rows, hidden, 6),
                 expected = joined.rows(rows, hidden, 7);
    const AttentionPlan& plan = joined.ops().plan_attention(joined.attention(), batch);
    joined.ops().attend(q, kv, plan, *o, found);
    joined.ops().Ops::attend(q, kv, plan, *o, expected);
    EXPECT_TRUE(same_bits(found, expected));
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, FusedOps, testing::ValuesIn(kShapes), [](const auto& info) {
  return "head_dim_" + std::to_string(info.param.head_dim);
});

}  // namespace
}  // namespace foretoken::fused_ops_test
