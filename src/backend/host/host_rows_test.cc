// Copies of rows against plain loops, for sizes that one thread copies and sizes that are divided.

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "backend/host/host_step.h"
#include "base/index.h"

namespace foretoken {
namespace {

class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t width, float first)
      : values_(at(rows * width)), shape_{rows, width} {
    for (float& value : values_) value = first++;
  }
  Tensor view() { return {values_.data(), DType::kF32, shape_}; }
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
  Shape shape_;
};

struct Size {
  std::int64_t rows, width;
};
// The last one has many pieces of columns and an odd end.
constexpr Size kSizes[] = {{1, 5}, {7, 64}, {3, 70000}, {300, 200}, {40, 1601}};

TEST(HostRows, gather_columns_writes_these_columns_only) {
  for (const int threads : {1, 3})
    for (const auto [count, width] : kSizes) {
      ThreadPool pool(threads, false);
      Matrix x(count + 2, width, 0.0F), found(count, width + 9, 1e6F),
          expected(count, width + 9, 1e6F);
      std::vector<std::int32_t> rows;
      for (std::int64_t i = 0; i < count; ++i)
        rows.push_back(static_cast<std::int32_t>((i * 5 + 2) % (count + 2)));
      gather_host_columns(pool, x.view(), rows, found.view(), 4);
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t c = 0; c < width; ++c)
          expected.view().row_f32(i)[4 + c] = x.view().row_f32(rows[at(i)])[c];
      EXPECT_EQ(found.values(), expected.values()) << threads << ", " << count << " x " << width;
    }
}

TEST(HostRows, of_rows_copied_to_one_place_the_last_stays) {
  for (const int threads : {1, 3})
    for (const auto [count, width] : kSizes) {
      ThreadPool pool(threads, false);
      Matrix x(count, width, 0.0F), found(count, width, 1e6F), expected(count, width, 1e6F);
      std::vector<std::int32_t> from, to;
      for (std::int64_t i = 0; i < count; ++i) {
        from.push_back(static_cast<std::int32_t>(count - 1 - i));
        to.push_back(static_cast<std::int32_t>(i / 3));
      }
      copy_host_rows(pool, x.view(), from, found.view(), to);
      for (std::size_t i = 0; i < from.size(); ++i)
        std::copy_n(x.view().row_f32(from[i]), width, expected.view().row_f32(to[i]));
      EXPECT_EQ(found.values(), expected.values()) << threads << ", " << count << " x " << width;
    }
}

TEST(HostRows, rows_that_are_read_come_one_after_another) {
  Matrix x(5, 3, 0.0F);
  std::vector<float> found(100, -1.0F);
  read_host_rows(x.view(), std::vector<std::int32_t>{4, 0, 4}, found);
  EXPECT_EQ(found, (std::vector<float>{12, 13, 14, 0, 1, 2, 12, 13, 14}));
  read_host_rows(x.view(), {}, found);
  EXPECT_TRUE(found.empty());
}

TEST(HostRows, columns_join_in_order) {
  for (const int threads : {1, 3})
    for (const auto [count, width] : kSizes) {
      ThreadPool pool(threads, false);
      Matrix a(count, width, 0.0F), b(count, 3, 1e6F), found(count, width + 3, 0.0F);
      join_host_columns(pool, a.view(), b.view(), found.view());
      std::vector<float> expected;
      for (std::int64_t i = 0; i < count; ++i) {
        expected.insert(expected.end(), a.view().row_f32(i), a.view().row_f32(i) + width);
        expected.insert(expected.end(), b.view().row_f32(i), b.view().row_f32(i) + 3);
      }
      EXPECT_EQ(found.values(), expected) << threads << ", " << count << " x " << width;
    }
}

}  // namespace
}  // namespace foretoken
