#include "backend/reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numbers>
#include <vector>

#include "backend/block_row.h"
#include "backend/float_view.h"
#include "backend/host/host_step.h"
#include "backend/kv_codes.h"
#include "backend/quantize.h"
#include "base/index.h"
#include "tensor/arena.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

class ReferenceLinear final : public PackedLinear {
 public:
  explicit ReferenceLinear(const LinearParts& parts) : dtype_(parts.dtype), format_(parts.format) {
    std::vector<std::unique_ptr<CodedRows>> made;
    std::vector<const CodedRows*> codes(parts.codes.begin(), parts.codes.end());
    for (const Tensor& w : parts.weights) {
      if (format_.is_coded())
        codes.push_back(made.emplace_back(std::make_unique<QuantizedRows>(w, format_)).get());
      else
        add_floats(w);
    }
    for (const CodedRows* rows : codes) add_codes(*rows);
    CHECK(parts.biases.empty() || parts.biases.size() == part_rows_.size());
    for (std::size_t p = 0; p < part_rows_.size(); ++p) {
      const bool has_bias = p < parts.biases.size() && !parts.biases[p].empty();
      for (std::int64_t i = 0; i < part_rows_[p]; ++i)
        bias_.push_back(has_bias ? load_float(parts.biases[p].data(), parts.biases[p].dtype(), i)
                                 : 0.0F);
    }
  }

  std::int64_t in_width() const override { return in_; }
  std::int64_t out_width() const override { return static_cast<std::int64_t>(bias_.size()); }
  std::size_t bytes() const override { return weight_.size() * sizeof(float); }

  const float* row(std::int64_t n) const { return weight_.data() + n * in_; }
  float bias(std::int64_t n) const { return bias_[at(n)]; }

  // What the product sees of rows of inputs: bf16 weights meet inputs rounded to bf16; codes meet
  // codes, if the format says so.
  void round(float* x) const {
    if (!format_.is_coded() || !format_.rounds_input) {
      const bool to_bf16 = format_.is_coded() || dtype_ == DType::kBF16;
      for (std::int64_t k = 0; to_bf16 && k < in_; ++k) x[k] = round_to(DType::kBF16, x[k]);
      return;
    }
    const std::int64_t group = format_.group_width(in_);
    std::vector<std::int8_t> codes(at(group));
    std::vector<float> values(at(group));
    for (std::int64_t k = 0; k < in_; k += group) {
      const std::int64_t count = std::min(group, in_ - k);
      for (std::int64_t i = 0; i < count; ++i) values[at(i)] = x[column(k + i)];
      const float scale = round_input(values.data(), count, codes.data());
      for (std::int64_t i = 0; i < count; ++i)
        x[column(k + i)] = static_cast<float>(codes[at(i)]) * scale;
    }
  }

 private:
  void begin(std::int64_t rows, std::int64_t width) {
    CHECK(in_ == 0 || width == in_) << "stacked matrices of widths " << in_ << " and " << width;
    in_ = width;
    part_rows_.push_back(rows);
  }
  void add_floats(const Tensor& w) {
    begin(w.dim(0), w.dim(1));
    for (std::int64_t i = 0; i < w.elements(); ++i)
      weight_.push_back(round_to(dtype_, load_float(w.data(), w.dtype(), i)));
  }
  // Of the input, that lies at a place of a row of codes.
  std::int64_t column(std::int64_t place) const {
    return order_.empty() ? place : order_[at(place)];
  }
  void add_blocks(const CodedRows& rows) {
    OwnBlockRow row(format_, in_);
    for (std::int64_t n = 0; n < rows.rows(); ++n) {
      rows.read_blocks(n, row.view());
      weight_.resize(weight_.size() + at(in_));
      row.widen(weight_.data() + weight_.size() - at(in_));
    }
  }
  void add_codes(const CodedRows& rows) {
    begin(rows.rows(), rows.width());
    if (format_.is_blocked()) return add_blocks(rows);
    order_.assign(rows.column_order().begin(), rows.column_order().end());
    std::vector<std::uint8_t> codes(at(in_)), zeros(at(format_.groups(in_)));
    std::vector<float> scales(zeros.size()), values(at(in_));
    std::uint8_t* const given = format_.has_zero_points ? zeros.data() : nullptr;
    for (std::int64_t n = 0; n < rows.rows(); ++n) {
      rows.read(n, codes.data(), scales.data(), given);
      widen_row(format_, in_, codes.data(), scales.data(), given, values.data());
      const std::size_t first = weight_.size();
      weight_.resize(first + at(in_));
      for (std::int64_t k = 0; k < in_; ++k) weight_[first + at(column(k))] = values[at(k)];
    }
  }

  DType dtype_;
  WeightFormat format_;
  std::int64_t in_ = 0;
  std::vector<std::int64_t> part_rows_;
  std::vector<std::int32_t> order_;  // of columns, where codes have one of their own
  std::vector<float> weight_;        // [out, in]; codes as their product sees them
  std::vector<float> bias_;
};

const ReferenceLinear& reference(const PackedLinear& w) {
  return static_cast<const ReferenceLinear&>(w);
}

void norm_row(const float* x, const float* weight, std::int64_t width, float eps, float* out) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < width; ++i) sum += static_cast<double>(x[i]) * x[i];
  const double scale = 1.0 / std::sqrt(sum / static_cast<double>(width) + eps);
  for (std::int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(x[i] * scale * weight[i]);
}

// Pairs element i with element i + rotary_dim / 2.
void rotate(float* head, const RopeTable& rope, std::int32_t position) {
  if (rope.rotary_dim == 0) return;
  const int half = rope.rotary_dim / 2;
  const float* cos = rope.cos.row_f32(position);
  const float* sin = rope.sin.row_f32(position);
  for (int i = 0; i < half; ++i) {
    const float a = head[i], b = head[i + half];
    head[i] = a * cos[i] - b * sin[i];
    head[i + half] = b * cos[i] + a * sin[i];
  }
}

double activate(Activation act, double x) {
  switch (act) {
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kGelu:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
  }
  return 0.0;
}

double capped(double x, double cap) { return cap * std::tanh(x / cap); }

class ReferenceOps final : public Ops {
 public:
  explicit ReferenceOps(ThreadPool& pool) : pool_(pool) {}

  std::string description() const override {
    return "reference, " + std::to_string(pool_.size()) + " threads";
  }

  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    return std::make_unique<ReferenceLinear>(parts);
  }

  std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w, std::span<const Token> rows,
                                          DType dtype, const WeightFormat& format) override {
    return pack_host_rows(*this, w, rows, dtype, format);
  }

  Tensor alloc(DType dtype, Shape shape) override {
    owned_.emplace_back(at(shape.elements()) * dtype_bytes(dtype));
    return owned_.back().view(dtype, shape);
  }

  Tensor temp(DType dtype, Shape shape) override { return scratch_.alloc(dtype, shape); }
  Arena::Mark mark() const override { return scratch_.mark(); }
  void release(const Arena::Mark& mark) override { scratch_.release(mark); }

  // What lies between the parts of joined operations is scratch here, of each layer anew.
  std::size_t workspace_bytes(const ForwardSize& size) const override {
    const AttentionShape& a = size.attention;
    const std::int64_t width = (2 * a.heads + 2 * a.kv_heads) * a.head_dim + 3 * size.intermediate;
    return at(size.layers * (size.rows * width * 4 + 256));
  }
  std::size_t most_step_bytes() const override { return scratch_.most_bytes(); }

  void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
              Batch& batch) override {
    scratch_.reset();
    plans_.clear();
    layout_rows(plan, trees, table, batch);
  }

  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    expect(out, {static_cast<std::int64_t>(tokens.size()), table.in_width()}, DType::kF32);
    for (std::size_t r = 0; r < tokens.size(); ++r)
      std::copy_n(reference(table).row(tokens[r]), table.in_width(),
                  out.row_f32(static_cast<std::int64_t>(r)));
  }

  std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) override {
    return alloc_host_kv([this](DType dtype, Shape of) { return alloc(dtype, of); }, shape,
                         num_pages);
  }
  std::size_t kv_page_bytes(const KvShape& shape) const override {
    return host_kv_page_bytes(shape);
  }

  void upload(Tensor host, Tensor to) override { copy_host(host, to); }

  Tensor keep_rows(Tensor matrix, DType dtype) override {
    const Tensor rows = alloc(dtype, matrix.shape());
    for (std::int64_t i = 0; i < rows.elements(); ++i)
      store_float(rows.data(), dtype, i, load_float(matrix.data(), matrix.dtype(), i));
    return rows;
  }

  void look_up(Tensor table, std::span<const Token> tokens, Tensor out) override {
    const std::int64_t width = table.dim(1);
    expect(out, {static_cast<std::int64_t>(tokens.size()), width}, DType::kF32);
    for (std::size_t r = 0; r < tokens.size(); ++r)
      for (std::int64_t i = 0; i < width; ++i)
        out.row_f32(static_cast<std::int64_t>(r))[i] =
            load_float(table.data(), table.dtype(), tokens[r] * width + i);
  }

  void norm(Tensor x, Tensor weight, float eps, Tensor out) override {
    expect(x, {-1, weight.dim(0)}, DType::kF32);
    expect(out, {x.dim(0), x.dim(1)}, DType::kF32);
    each_row(x, [&](std::int64_t r) {
      norm_row(x.row_f32(r), weight.f32(), x.dim(1), eps, out.row_f32(r));
    });
  }

  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) override {
    add(residual, delta);
    norm(residual, weight, eps, out);
  }

  void add(Tensor residual, Tensor delta) override {
    expect(delta, {residual.dim(0), residual.dim(1)}, DType::kF32);
    for (std::int64_t i = 0; i < residual.elements(); ++i) residual.f32()[i] += delta.f32()[i];
  }

  void scale(Tensor x, float factor) override {
    for (std::int64_t i = 0; i < x.elements(); ++i) x.f32()[i] *= factor;
  }

  void soft_cap(Tensor x, float cap) override {
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.f32()[i] = static_cast<float>(capped(x.f32()[i], cap));
  }

  void linear(const PackedLinear& w, Tensor x, Tensor y) override {
    expect(x, {-1, w.in_width()}, DType::kF32);
    expect(y, {x.dim(0), w.out_width()}, DType::kF32);
    const ReferenceLinear& packed = reference(w);
    std::vector<float> input(x.f32(), x.f32() + x.elements());
    for (std::int64_t r = 0; r < x.dim(0); ++r) packed.round(input.data() + r * w.in_width());
    pool_.parallel_for(static_cast<int>(w.out_width()), [&](int n, int) {
      for (std::int64_t r = 0; r < x.dim(0); ++r) {
        const float* in = input.data() + r * w.in_width();
        double sum = 0.0;
        for (std::int64_t k = 0; k < w.in_width(); ++k)
          sum += static_cast<double>(packed.row(n)[k]) * in[k];
        y.row_f32(r)[n] = static_cast<float>(sum + packed.bias(n));
      }
    });
  }

  void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                     const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                     Tensor q) override {
    const std::int64_t dim = shape.head_dim;
    expect(qkv, {batch.rows, (shape.heads + 2 * shape.kv_heads) * dim}, DType::kF32);
    expect(q, {batch.rows, shape.heads * dim}, DType::kF32);
    each_row(q, [&](std::int64_t r) {
      std::vector<float> head(at(dim));
      const auto turn = [&](const float* from, const Tensor& weight) {
        head.assign(from, from + dim);
        if (!weight.empty()) norm_row(from, weight.f32(), dim, qk_norm.eps, head.data());
        rotate(head.data(), rope, batch.position[at(r)]);
      };
      const float* row = qkv.row_f32(r);
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        turn(row + h * dim, qk_norm.q_weight);
        std::copy(head.begin(), head.end(), q.row_f32(r) + h * dim);
      }
      if (batch.kv_slot[at(r)] < 0) return;
      for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
        turn(row + (shape.heads + h) * dim, qk_norm.k_weight);
        const float* v = row + (shape.heads + shape.kv_heads + h) * dim;
        store_head(kv, batch.kv_slot[at(r)], h, head.data(), v);
      }
    });
  }

  const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) override {
    AttentionPlan& plan = plans_.emplace_back();
    plan.shape = shape;
    plan.batch = &batch;
    return plan;
  }

  void attention(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out) override {
    const AttentionShape& shape = plan.shape;
    const Batch& batch = *plan.batch;
    expect(q, {batch.rows, shape.heads * shape.head_dim}, DType::kF32);
    expect(out, {batch.rows, shape.heads * shape.head_dim}, DType::kF32);
    each_row(q, [&](std::int64_t r) {
      std::vector<std::int32_t> slots;
      visible_slots(batch, static_cast<int>(r), slots);
      if (shape.window > 0 && slots.size() > at(shape.window))
        slots.erase(slots.begin(), slots.end() - shape.window);
      for (int h = 0; h < shape.heads; ++h)
        attend(q.row_f32(r) + h * shape.head_dim, kv, shape, h, slots,
               out.row_f32(r) + h * shape.head_dim);
    });
  }

  void gated_act(Tensor gate_up, Activation act, Tensor out) override {
    const std::int64_t width = out.dim(1);
    expect(gate_up, {out.dim(0), 2 * width}, DType::kF32);
    each_row(out, [&](std::int64_t r) {
      const float* gate = gate_up.row_f32(r);
      for (std::int64_t i = 0; i < width; ++i)
        out.row_f32(r)[i] = static_cast<float>(activate(act, gate[i]) * gate[width + i]);
    });
  }

  void gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                      std::int64_t column) override {
    gather_host_columns(pool_, x, rows, out, column);
  }
  void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                 std::span<const std::int32_t> to) override {
    copy_host_rows(pool_, x, from, out, to);
  }
  void join_columns(Tensor a, Tensor b, Tensor out) override {
    join_host_columns(pool_, a, b, out);
  }

  void add_elements(Tensor x, std::span<const Addend> addends) override {
    for (const Addend& addend : addends) x.row_f32(addend.row)[addend.column] += addend.value;
  }

  void read_back() override {}  // what is asked for is there when a call returns

  void read_rows(Tensor x, std::span<const std::int32_t> rows, std::vector<float>& out) override {
    read_host_rows(x, rows, out);
  }
  void top_tokens(Tensor logits, int k, TopTokens& out) override {
    expect(logits, {-1, -1}, DType::kF32);
    out.token.assign(at(logits.dim(0) * k), kNoToken);
    out.probability.assign(at(logits.dim(0) * k), 0.0F);
    for (std::int64_t r = 0; r < logits.dim(0); ++r) {
      const float* row = logits.row_f32(r);
      std::vector<Token> order;
      for (Token t = 0; t < logits.dim(1); ++t)
        if (row[t] > -INFINITY) order.push_back(t);
      std::stable_sort(order.begin(), order.end(),
                       [&](Token a, Token b) { return row[a] > row[b]; });
      if (order.empty()) continue;
      double sum = 0;
      for (std::int64_t t = 0; t < logits.dim(1); ++t)
        sum += std::exp(static_cast<double>(row[t]) - static_cast<double>(row[order.front()]));
      for (std::size_t i = 0; i < std::min(at(k), order.size()); ++i) {
        const double gap =
            static_cast<double>(row[order[i]]) - static_cast<double>(row[order.front()]);
        out.token[at(r * k) + i] = order[i];
        out.probability[at(r * k) + i] = k == 1 ? 1.0F : static_cast<float>(std::exp(gap) / sum);
      }
    }
  }

  void draw_tokens(Tensor logits, std::span<const Token> ids, std::int64_t vocab,
                   std::span<const DrawRow> rows, int k, DrawnTokens& out) override {
    const ScratchScope rows_only(*this);
    draw_rows(pool_, logits, ids, temp(DType::kF32, {pool_.size(), vocab}), rows, k, out);
  }

  void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch, Tensor logits,
              Walk& walk) override {
    walk = verify_trees(pool_, plan, trees, batch, logits);
  }

  void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) override {
    keep_kv(pool_, walk, batch, layers);
  }

 private:
  template <typename Body>
  void each_row(const Tensor& x, Body body) {
    pool_.parallel_for(static_cast<int>(x.dim(0)), [&](int r, int) { body(r); });
  }

  static std::int64_t scale_index(const KvLayer& kv, std::int32_t slot, std::int64_t h) {
    return (slot / kPageTokens * kv.k.dim(1) + h) * kPageTokens + slot % kPageTokens;
  }

  static void store_head(const KvLayer& kv, std::int32_t slot, std::int64_t h, const float* k,
                         const float* v) {
    const std::int64_t dim = kv.k.dim(2);
    if (is_kv_code(kv.k.dtype())) {
      std::vector<std::uint8_t> k_codes(at(dim)), v_codes(at(dim));
      const std::int64_t row = scale_index(kv, slot, h);
      kv.k_scale.f32()[row] = round_kv_row(kv.k.dtype(), k, dim, k_codes.data());
      kv.v_scale.f32()[row] = round_kv_row(kv.v.dtype(), v, dim, v_codes.data());
      for (std::int64_t d = 0; d < dim; ++d) {
        static_cast<std::uint8_t*>(kv.k.data())[host_key_at(kv, slot, h, d)] = k_codes[at(d)];
        static_cast<std::uint8_t*>(kv.v.data())[host_value_at(kv, slot, h, d)] = v_codes[at(d)];
      }
      return;
    }
    for (std::int64_t d = 0; d < dim; ++d) {
      store_float(kv.k.data(), kv.k.dtype(), host_key_at(kv, slot, h, d), k[d]);
      store_float(kv.v.data(), kv.v.dtype(), host_value_at(kv, slot, h, d), v[d]);
    }
  }

  // Element i of keys or values; scale: of codes, of the row that it belongs to.
  static double kv_value(const Tensor& kv, std::int64_t i, const Tensor& scales,
                         std::int64_t scale) {
    if (scales.empty()) return load_float(kv.data(), kv.dtype(), i);
    const std::uint8_t code = static_cast<const std::uint8_t*>(kv.data())[i];
    return static_cast<double>(kv_code_value(kv.dtype(), code)) * scales.f32()[scale];
  }

  static void attend(const float* q, const KvLayer& kv, const AttentionShape& shape, int head,
                     const std::vector<std::int32_t>& slots, float* out) {
    const int h = head / (shape.heads / shape.kv_heads);
    std::vector<double> p(slots.size());
    double max = -INFINITY, sum = 0.0;
    // Keys of bf16 meet queries rounded like them. Nothing else is rounded.
    const bool round = kv.k.dtype() == DType::kBF16;
    for (std::size_t j = 0; j < slots.size(); ++j) {
      double dot = 0.0;
      for (int d = 0; d < shape.head_dim; ++d)
        dot += static_cast<double>(round ? round_to(DType::kBF16, q[d]) : q[d]) *
               kv_value(kv.k, host_key_at(kv, slots[j], h, d), kv.k_scale,
                        scale_index(kv, slots[j], h));
      p[j] = dot * shape.scale;
      if (shape.score_cap > 0) p[j] = capped(p[j], shape.score_cap);
      max = std::max(max, p[j]);
    }
    if (!kv.sinks.empty()) {
      max = std::max<double>(max, kv.sinks.f32()[head]);
      sum = std::exp(kv.sinks.f32()[head] - max);
    }
    for (double& x : p) sum += x = std::exp(x - max);
    for (int d = 0; d < shape.head_dim; ++d) {
      double o = 0.0;
      for (std::size_t j = 0; j < slots.size(); ++j)
        o += p[j] * kv_value(kv.v, host_value_at(kv, slots[j], h, d), kv.v_scale,
                             scale_index(kv, slots[j], h));
      out[d] = static_cast<float>(o / sum);
    }
  }

  ThreadPool& pool_;
  std::vector<Buffer> owned_;
  Arena scratch_;
  std::deque<AttentionPlan> plans_;  // of this step
};

}  // namespace

std::unique_ptr<Ops> make_reference_backend(ThreadPool& pool) {
  return std::make_unique<ReferenceOps>(pool);
}

}  // namespace foretoken
