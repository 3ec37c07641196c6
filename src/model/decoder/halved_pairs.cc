#include "model/decoder/halved_pairs.h"

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.h"
#include "checkpoint/quantized/ordered_rows.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

class HalvedPairs final : public WeightSource, public OrderedRows {
 public:
  HalvedPairs(std::unique_ptr<WeightSource> source, const ModelConfig& config)
      : source_(std::move(source)),
        heads_(config.heads),
        kv_heads_(config.kv_heads),
        head_dim_(config.head_dim),
        rotated_(config.rotated()) {}

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    const auto stored = source_->find(name, expected);
    const std::int64_t heads = heads_of(name);
    if (!stored || heads == 0 || !are_rows(name, *stored) || stored->dim(0) != heads * head_dim_)
      return stored;
    return reordered(name, *stored);
  }
  std::vector<std::int64_t> stored_rows(const std::string& matrix,
                                        std::int64_t rows) const override {
    const std::int64_t heads = heads_of(matrix + ".");
    std::vector<std::int64_t> order;
    if (heads == 0 || rows != heads * head_dim_) return order;
    for (std::int64_t row = 0; row < rows; ++row) order.push_back(stored_row(row));
    return order;
  }
  std::optional<GgufRows> rows(const std::string& name) const override {
    const auto stored = source_->rows(name);
    const std::int64_t heads = heads_of(name);
    if (!stored || heads == 0) return stored;
    return GgufRows(stored->blocks(), heads, 0.0F, rotated_);
  }
  std::vector<std::string> names() const override { return source_->names(); }
  std::string where() const override { return source_->where(); }
  void release(const std::string& name) const override {
    reordered_.erase(name);
    source_->release(name);
  }
  PackedCache* packed() const override { return source_->packed(); }

 private:
  // Of a tensor with rows that are rotated; 0: there are none.
  std::int64_t heads_of(std::string_view name) const {
    if (name.find(".q_proj.") != std::string_view::npos) return heads_;
    return name.find(".k_proj.") != std::string_view::npos ? kv_heads_ : 0;
  }

  // What belongs to codes is reordered with them.
  static bool are_rows(std::string_view name, const Tensor& stored) {
    return dtype_is_float(stored.dtype()) && (name.ends_with(".weight") || name.ends_with(".bias"));
  }

  // Rows 0, 2, 4, .. of what is rotated, then 1, 3, 5, ..
  std::int64_t stored_row(std::int64_t row) const {
    const std::int64_t half = rotated_ / 2, j = row % head_dim_;
    return row - j + (j >= rotated_ ? j : j < half ? 2 * j : 2 * (j - half) + 1);
  }

  Tensor reordered(const std::string& name, const Tensor& stored) const {
    Buffer& memory = reordered_[name];
    memory = Buffer(stored.bytes());
    const std::size_t bytes = stored.bytes() / at(stored.dim(0));
    const auto* const from = static_cast<const std::byte*>(stored.data());
    auto* const to = static_cast<std::byte*>(memory.data());
    for (std::int64_t row = 0; row < stored.dim(0); ++row)
      std::memcpy(to + at(row) * bytes, from + at(stored_row(row)) * bytes, bytes);
    return memory.view(stored.dtype(), stored.shape());
  }

  std::unique_ptr<WeightSource> source_;
  std::int64_t heads_, kv_heads_, head_dim_, rotated_;
  mutable std::map<std::string, Buffer> reordered_;  // until they are released
};

}  // namespace

std::unique_ptr<WeightSource> halved_pairs(std::unique_ptr<WeightSource> source,
                                           const ModelConfig& config) {
  if (source->names().empty()) return source;  // made-up weights are in any order
  return std::make_unique<HalvedPairs>(std::move(source), config);
}

}  // namespace foretoken
