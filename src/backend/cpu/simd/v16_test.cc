// V16 gives the same bytes on every instruction set, and those of the definitions.
#include "backend/cpu/simd/v16_probe.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/table/isa.h"
#include "base/threads.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

struct Inputs {
  std::array<float, 16> a, b, c;
  std::array<std::uint16_t, 32> bits;
  int n = 0;

  explicit Inputs(std::mt19937_64& random) : n(static_cast<int>(random() % 17)) {
    const bool wild = random() % 2 == 0;  // any bit pattern
    const auto draw = [&](float scale) {
      if (wild && random() % 2 == 0)
        return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      return scale * std::normal_distribution<float>()(random);
    };
    for (float& v : a) v = draw(40.0F);
    for (float& v : b) v = draw(1.0F);
    for (float& v : c) v = draw(20.0F);
    for (auto& v : bits) v = static_cast<std::uint16_t>(random());
    for (std::size_t i = 0; i < 16; i += 5) b[i] = a[i];  // equal lanes, too
  }
};

struct Results {
  std::array<float, kProbeFloats> floats;
  std::array<std::uint16_t, kProbeBits> bits;

  Results(V16Probe probe, const Inputs& in) {
    const FlushDenormals flush;
    probe({in.a.data(), in.b.data(), in.c.data(), in.bits.data(), in.n},
          {floats.data(), bits.data()});
  }
};

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

class V16Test : public testing::TestWithParam<std::pair<Isa, V16Probe>> {
 protected:
  void SetUp() override {
    if (!has_isa(detect_cpu(), GetParam().first))
      GTEST_SKIP() << "this machine lacks " << isa_name(GetParam().first);
  }
};

TEST_P(V16Test, equals_the_scalar_variant_byte_for_byte) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20000; ++round) {
    const Inputs in(random);
    const Results expected(scalar_v16_probe, in), found(GetParam().second, in);
    for (std::size_t i = 0; i < kProbeFloats; ++i)
      ASSERT_TRUE(same(expected.floats[i], found.floats[i]))
          << "operation " << i / 16 << ": " << expected.floats[i] << " and " << found.floats[i]
          << " for " << in.a[i % 16] << ", " << in.b[i % 16] << ", " << in.c[i % 16];
    ASSERT_EQ(expected.bits, found.bits);
  }
}

// Of the processor's family.
const std::pair<Isa, V16Probe> kProbes[] = {
#if defined(__aarch64__)
    {Isa::kNeon, neon_v16_probe},
#else
    {Isa::kAvx2, avx2_v16_probe},
    {Isa::kAvx512, avx512_v16_probe},
    {Isa::kAvx512Bf16, avx512_bf16_v16_probe},
#endif
};
INSTANTIATE_TEST_SUITE_P(Isas, V16Test, testing::ValuesIn(kProbes),
                         [](const auto& info) { return std::string(isa_name(info.param.first)); });

TEST(V16Scalar, conversions_equal_those_of_the_tensor_folder) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 20000; ++round) {
    const Inputs in(random);
    const Results found(scalar_v16_probe, in);
    for (std::size_t i = 0; i < 16; ++i) {
      ASSERT_EQ(found.bits[i], f32_to_bf16(in.a[i])) << in.a[i];
      ASSERT_EQ(found.bits[16 + i], f32_to_f16(in.a[i])) << in.a[i];
      ASSERT_TRUE(same(found.floats[15 * 16 + i], bf16_to_f32(in.bits[i])));
      ASSERT_TRUE(same(found.floats[16 * 16 + i], f16_to_f32(in.bits[i])));
    }
  }
}

TEST(V16Scalar, weights_are_zero_or_normal_and_rounded_as_others) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 20000; ++round) {
    const Inputs in(random);
    const Results found(scalar_v16_probe, in);
    for (std::size_t i = 0; i < 16; ++i) {
      const float weight = found.floats[kProbeWeights + i];
      ASSERT_TRUE(weight == 0 || std::isnormal(weight)) << in.a[i];
      ASSERT_TRUE(same(found.floats[25 * 16 + i], bf16_to_f32(f32_to_bf16(weight)))) << weight;
    }
  }
}

TEST(V16Scalar, sum_is_a_tree_of_halves) {
  std::mt19937_64 random(7);
  const Inputs in(random);
  const Results found(scalar_v16_probe, in);
  std::array<float, 16> v = in.c;
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) v[i] = v[i] + v[i + half];
  EXPECT_TRUE(same(found.floats[22 * 16], v[0]));
  EXPECT_TRUE(same(found.floats[27 * 16 + 2], 2.0F * v[0])) << "row 2 is 2 * c";
}

// Units in the last place between a result and the exact value.
double ulps(float found, double exact) {
  const auto rounded = static_cast<float>(exact);
  const double unit = static_cast<double>(std::nextafter(rounded, INFINITY)) - rounded;
  return std::abs(found - exact) / unit;
}

TEST(V16Scalar, exp_is_within_two_units_in_the_last_place_over_its_range) {
  std::mt19937_64 random(8);
  Inputs in(random);
  double worst = 0.0;
  for (float x = -87.3F; x < 88.7F; x += 0.0173F) {
    for (std::size_t i = 0; i < 16; ++i) in.a[i] = x + 0.001F * static_cast<float>(i);
    const Results found(scalar_v16_probe, in);
    for (std::size_t i = 0; i < 16; ++i)
      if (in.a[i] < 88.7F)
        worst = std::max(worst, ulps(found.floats[kProbeExp + i], std::exp(double{in.a[i]})));
  }
  EXPECT_LT(worst, 2.0);
}

TEST(V16Scalar, exp2_is_as_near_as_its_degree_below_zero) {
  std::mt19937_64 random(8);
  Inputs in(random);
  double worst = 0.0, worst_rough = 0.0;
  for (float x = -126.0F; x < 0.0F; x += 0.0173F) {
    for (std::size_t i = 0; i < 16; ++i)
      in.a[i] = std::min(x + 0.001F * static_cast<float>(i), 0.0F);
    const Results found(scalar_v16_probe, in);
    for (std::size_t i = 0; i < 16; ++i) {
      const double exact = std::exp2(double{in.a[i]});
      worst = std::max(worst, ulps(found.floats[kProbeWeights + i], exact));
      worst_rough = std::max(worst_rough, std::abs(found.floats[kProbeRough + i] / exact - 1.0));
    }
  }
  EXPECT_LT(worst, 3.0);
  EXPECT_LT(worst_rough, 0x1p-13);
  EXPECT_GT(worst_rough, 0x1p-14);
}

TEST(V16Scalar, exp2_at_the_ends) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::mt19937_64 random(9);
  Inputs in(random);
  in.a = {0.0F,  -0.0F, -1e-30F, -126.0F, -126.1F, -127.0F, -130.0F, -1e30F,
          -kInf, -1.0F, -2.0F,   -125.0F, -3.0F,   -4.0F,   -5.0F,   -6.0F};
  const Results found(scalar_v16_probe, in);
  const std::array<float, 12> expected = {1.0F, 1.0F, 1.0F, 0x1p-126F, 0.0F,  0.0F,
                                          0.0F, 0.0F, 0.0F, 0.5F,      0.25F, 0x1p-125F};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(found.floats[kProbeWeights + i], expected[i]) << in.a[i];
    EXPECT_FLOAT_EQ(found.floats[kProbeRough + i], expected[i]) << in.a[i];
  }
}

TEST(V16Scalar, tanh_and_erf_are_within_five_units_in_the_last_place) {
  std::mt19937_64 random(8);
  Inputs in(random);
  double worst_tanh = 0.0, worst_erf = 0.0;
  for (float x = 1e-20F; x < 9.0F; x = std::max(x * 1.01F, x + 1e-5F)) {
    for (std::size_t i = 0; i < 16; ++i)
      in.b[i] = (i % 2 == 0 ? x : -x) * (1.0F + 0.0005F * static_cast<float>(i));
    const Results found(scalar_v16_probe, in);
    for (std::size_t i = 0; i < 16; ++i) {
      worst_tanh =
          std::max(worst_tanh, ulps(found.floats[kProbeTanh + i], std::tanh(double{in.b[i]})));
      worst_erf = std::max(worst_erf, ulps(found.floats[kProbeErf + i], std::erf(double{in.b[i]})));
      ASSERT_LT(std::abs(found.floats[kProbeTanh + i]), 1.0F);
      ASSERT_LE(std::abs(found.floats[kProbeErf + i]), 1.0F);
    }
  }
  EXPECT_LT(worst_tanh, 5.0);
  EXPECT_LT(worst_erf, 5.0);
}

TEST(V16Scalar, exp_at_the_ends) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::mt19937_64 random(9);
  Inputs in(random);
  in.a = {0.0F, -0.0F, kInf, -kInf, 89.0F, -88.0F, -1e30F, 1e30F, NAN, 88.7228F};
  const Results found(scalar_v16_probe, in);
  const std::array<float, 8> expected = {1.0F, 1.0F, kInf, 0.0F, kInf, 0.0F, 0.0F, kInf};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(found.floats[kProbeExp + i], expected[i]) << in.a[i];
  EXPECT_TRUE(std::isnan(found.floats[kProbeExp + 8]));
  EXPECT_TRUE(std::isfinite(found.floats[kProbeExp + 9]));
}

}  // namespace
}  // namespace foretoken
