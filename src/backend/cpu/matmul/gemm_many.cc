// Products of few rows each that are computed together: their inputs are packed in one pass over
// the pool, and their items handed out in one more.

#include <algorithm>
#include <numeric>

#include "backend/cpu/matmul/gemm.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kManyRows = 64;  // a product of more keeps all workers busy on its own
constexpr int kItemsEach = 6;  // of a worker, over all products

// Lists of items one after the other.
class ItemLists {
 public:
  void add(int items) { ends_.push_back(items_ += items); }
  int items() const { return items_; }
  struct Place {
    std::size_t list;
    int item;
  };
  Place of(int item) const {
    const auto list = at(std::ranges::upper_bound(ends_, item) - ends_.begin());
    return {list, list == 0 ? item : item - ends_[list - 1]};
  }

 private:
  int items_ = 0;
  std::vector<int> ends_;
};

}  // namespace

void Gemm::run_many(std::span<const Product> products) {
  std::vector<Product> joined;
  for (const Product& product : products) {
    CHECK(product.rows > 0);
    if (product.rows > kManyRows || product.w->column_order() != nullptr)
      run(*product.w, product.x, product.rows, product.y);
    else
      joined.push_back(product);
  }
  if (!joined.empty()) run_joined(joined);
}

// Inputs that are the same, of the same rows, for weights of one shape are packed once.
std::vector<Gemm::PackedX> Gemm::pack_joined(std::span<const Product> products) {
  const auto packs_alike = [&](const Product& a, const Product& b) {
    return a.x == b.x && a.rows == b.rows && a.w->in_width() == b.w->in_width() &&
           a.w->dtype() == b.w->dtype() && a.w->format() == b.w->format() &&
           &kernels_for(*a.w, a.rows) == &kernels_for(*b.w, b.rows);
  };
  std::vector<PackedX> packed;
  std::vector<std::size_t> places, makers;  // offsets; the products whose input is packed
  std::size_t bytes = 0;
  ItemLists rows;
  std::int64_t elements = 0;
  for (std::size_t p = 0; p < products.size(); ++p) {
    const Product& product = products[p];
    const GemmKernels& kernels = kernels_for(*product.w, product.rows);
    if (kernels.pack_x == nullptr) {
      packed.push_back({reinterpret_cast<const char*>(product.x), product.w->in_width(),
                        kernels.tile_rows(product.rows)});
      places.push_back(0);
      continue;
    }
    if (p > 0 && packs_alike(products[p - 1], product)) {
      packed.push_back(packed.back());
      places.push_back(places.back());
      continue;
    }
    const std::int64_t stride = packed_stride(kernels, *product.w);
    packed.push_back({nullptr, stride, kernels.tile_rows(product.rows)});
    places.push_back(bytes);
    makers.push_back(p);
    rows.add(ceil_div(product.rows, kernels.row_step));
    elements += product.rows * product.w->in_width();
    bytes += round_up(at(round_up(product.rows, kernels.row_step) * stride * kernels.x_bytes),
                      kCacheLineBytes);
  }
  if (makers.empty()) return packed;
  if (packed_x_.bytes() < bytes) packed_x_ = Buffer(bytes);
  for (std::size_t p = 0; p < products.size(); ++p)
    if (packed[p].data == nullptr)
      packed[p].data = static_cast<char*>(packed_x_.data()) + places[p];
  const auto pack = [&](int item, int) {
    const auto [maker, step] = rows.of(item);
    const Product& product = products[makers[maker]];
    const GemmKernels& kernels = kernels_for(*product.w, product.rows);
    const int first = step * kernels.row_step;
    pack_rows(kernels, *product.w, product.x, first,
              std::min(kernels.row_step, product.rows - first), packed[makers[maker]]);
  };
  if (elements > kPackedAlone) {
    pool_.parallel_for(rows.items(), pack);
  } else {
    const FlushDenormals flush;
    for (int item = 0; item < rows.items(); ++item) pack(item, 0);
  }
  return packed;
}

void Gemm::run_joined(std::span<const Product> products) {
  const std::vector<PackedX> packed = pack_joined(products);
  const int items_each = ceil_div(kItemsEach, static_cast<int>(products.size()));
  std::vector<Cut> cuts;
  ItemLists items;
  for (const Product& product : products) {
    cuts.push_back(cut_output(*product.w, product.rows, items_each));
    items.add(cuts.back().items());
  }
  pool_.parallel_for(items.items(), [&](int item, int worker) {
    const auto [product, place] = items.of(item);
    run_item(products[product], packed[product], cuts[product], place, worker);
  });
}

}  // namespace foretoken
