#include "model/decoder/check_weights.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "tensor/buffer.h"

namespace foretoken {
namespace {

// Zeros that nobody writes to: memory of the system only where it is read, and then one page.
class Zeros {
 public:
  Tensor view(DType dtype, const Shape& shape) {
    const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * dtype_bytes(dtype);
    if (areas_.empty() || areas_.back().bytes() < bytes) areas_.emplace_back(bytes);
    return areas_.back().view(dtype, shape);
  }

 private:
  std::deque<Buffer> areas_;  // each larger than the one before
};

// The tensors of a checkpoint: vectors as they are, matrices without their values.
class ShapesOfWeights final : public WeightSource {
 public:
  explicit ShapesOfWeights(std::unique_ptr<WeightSource> source) : source_(std::move(source)) {}

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    if (const auto blocks = source_->rows(name); blocks && blocks->shape().rank() > 1)
      return zeros_.view(DType::kBF16, blocks->shape());
    const auto found = source_->find(name, expected);
    if (!found || found->shape().rank() < 2 || !dtype_is_float(found->dtype())) return found;
    return zeros_.view(found->dtype(), found->shape());
  }
  std::optional<GgufRows> rows(const std::string& name) const override {
    return source_->rows(name);
  }
  std::vector<std::string> names() const override { return source_->names(); }
  std::string where() const override { return source_->where(); }
  void release(const std::string& name) const override { source_->release(name); }

 private:
  std::unique_ptr<WeightSource> source_;
  mutable Zeros zeros_;
};

class ShapeOfLinear final : public PackedLinear {
 public:
  ShapeOfLinear(std::int64_t in_width, std::int64_t out_width) : in_(in_width), out_(out_width) {}
  std::int64_t in_width() const override { return in_; }
  std::int64_t out_width() const override { return out_; }
  std::size_t bytes() const override { return 0; }

 private:
  std::int64_t in_, out_;
};

// Keeps what vectors and tables need, and of matrices their widths.
class ShapeOps final : public LoadOps {
 public:
  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    std::int64_t width = 0, rows = 0;
    for (const Tensor& weight : parts.weights) {
      width = weight.dim(1);
      rows += weight.dim(0);
    }
    for (const CodedRows* const codes : parts.codes) {
      width = codes->width();
      rows += codes->rows();
    }
    return std::make_unique<ShapeOfLinear>(width, rows);
  }
  std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w, std::span<const Token> rows, DType,
                                          const WeightFormat&) override {
    return std::make_unique<ShapeOfLinear>(w.in_width(), static_cast<std::int64_t>(rows.size()));
  }
  Tensor alloc(DType dtype, Shape shape) override {
    const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * dtype_bytes(dtype);
    return kept_.emplace_back(bytes).view(dtype, shape);
  }
  std::vector<KvLayer> alloc_kv(const KvShape&, int) override { return {}; }
  std::size_t kv_page_bytes(const KvShape&) const override { return 0; }
  std::size_t state_bytes(const KvShape&) const override { return 0; }
  void upload(Tensor host, Tensor to) override {
    std::memcpy(to.data(), host.data(), host.bytes());
  }
  Tensor keep_rows(Tensor matrix, DType dtype) override {
    return zeros_.view(dtype, matrix.shape());
  }

 private:
  std::deque<Buffer> kept_;
  Zeros zeros_;
};

}  // namespace

void check_weights(const std::string& folder, const ModelOptions& options,
                   const ModelConfig& config) {
  constexpr std::int64_t kPositions = 64;  // of rotary tables, which only a forward reads
  if (config.stored_quantization) return;
  auto shapes = std::make_unique<ShapesOfWeights>(open_weights(folder, options));
  const auto weights = own_weights(decoder_weights(std::move(shapes), config), options, config);
  ModelConfig small = config;
  small.context_length = std::min(small.context_length, kPositions);
  ShapeOps ops;
  const Decoder decoder(ops, small, *weights, DType::kBF16);
}

}  // namespace foretoken
