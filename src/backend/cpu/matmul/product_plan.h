#pragma once
// ProductPlan: how a matrix product is computed where nothing but its speed depends on it: how it
// is cut into items for workers, where K is interrupted, how far ahead weights are asked for. Each
// number is 0 for what the kernels would do anyway. Plain data.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace foretoken {

struct ProductPlan {
  int cols = 0;      // of an item, a multiple of kBlockCols
  int share = 0;     // items for each worker, at least, where rows are cut, too
  int step_k = 0;    // of a block of K, a multiple of kBlockK
  int prefetch = 0;  // bytes

  bool operator==(const ProductPlan&) const = default;
  // "cols 64, share 6, step 512, prefetch 6144"; "usual" without any.
  std::string str() const;
};

// What str() writes; nullopt for anything else, and for numbers that no kernel can use.
std::optional<ProductPlan> parse_plan(std::string_view text);

// One plan for each class of row counts: up to 1, 4, 8, 16, 32, 64, 128 rows. More rows have none.
class ProductPlans {
 public:
  static constexpr std::array<int, 7> kRows = {1, 4, 8, 16, 32, 64, 128};

  static std::size_t class_of(int rows);  // kRows.size(): none
  const ProductPlan& of(int rows) const;
  void set(std::size_t row_class, const ProductPlan& plan) { plans_[row_class] = plan; }

 private:
  std::array<ProductPlan, kRows.size() + 1> plans_{};
};

}  // namespace foretoken
