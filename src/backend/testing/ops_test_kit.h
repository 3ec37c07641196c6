#pragma once
// What the tests of Ops share: every backend of this machine, made-up values, comparison to the bit
// and within a tolerance. For tests only.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/index.h"
#include "base/rng.h"

namespace foretoken {

using Rows = std::vector<std::vector<float>>;

// A value within +-2 that depends on the three integers only.
inline float value_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto seed = static_cast<std::uint64_t>(a * 1000003 + b);
  const double u = static_cast<double>(mix_seed(seed, static_cast<std::uint64_t>(c)) >> 11U);
  return static_cast<float>(u * 0x1p-52 * 2.0 - 2.0);
}

struct Machine {
  std::string name;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Ops> ops;
};

inline Machine machine(const std::string& isa, int threads, const std::string& order = "pair") {
  Machine m{isa + "/" + std::to_string(threads), std::make_unique<ThreadPool>(threads, false), {}};
  const bool is_reference = isa == "reference";
  m.ops = make_backend({.device = is_reference ? "reference" : "cpu",
                        .cpu_isa = is_reference ? "auto" : isa,
                        .gemm_order = order},
                       *m.pool);
  return m;
}

inline void expect_same_bytes(const Rows& a, const Rows& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t r = 0; r < a.size(); ++r)
    ASSERT_EQ(std::memcmp(a[r].data(), b[r].data(), a[r].size() * sizeof(float)), 0)
        << what << ", row " << r;
}

inline void expect_near(const Rows& a, const Rows& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t i = 0; i < a[r].size(); ++i)
      ASSERT_NEAR(a[r][i], b[r][i], tolerance) << what << ", row " << r << ", element " << i;
}

}  // namespace foretoken
