#pragma once
// What the tests of Ops share: every backend of this machine, made-up values, comparison to the bit
// and within a tolerance. For tests only.

#include <cstring>
#include <memory>
#include <numeric>
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

// `count` values of one kind.
inline std::vector<float> some_values(std::int64_t kind, std::int64_t count, float factor = 1) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(factor * value_of(kind, 5, i));
  return values;
}

// A step of no rows, for operations that need no batch.
inline void begin_step(Ops& ops) {
  Batch batch;
  ops.layout({}, DraftTrees(1, 1), SeqTable(1), batch);
}

inline Tensor put_values(Ops& ops, std::vector<float> values, const Shape& shape) {
  const Tensor to = ops.temp(DType::kF32, shape);
  ops.upload(Tensor(values.data(), DType::kF32, shape), to);
  return to;
}

// What lies in x [rows, width], wherever that is.
inline Rows read_all_rows(Ops& ops, const Tensor& x) {
  std::vector<std::int32_t> rows(at(x.dim(0)));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> all;
  ops.read_rows(x, rows, all);
  ops.read_back();
  Rows out;
  for (std::int64_t r = 0; r < x.dim(0); ++r)
    out.emplace_back(all.begin() + r * x.dim(1), all.begin() + (r + 1) * x.dim(1));
  return out;
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
