#include "backend/cpu/attention.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace foretoken {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};
constexpr int kTreeScores = 5 * kAttnSlots;
constexpr std::int64_t kAlone = 1 << 16;  // multiply-adds that are done before workers wake up

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
int ceil_div(int a, int b) { return (a + b - 1) / b; }
std::size_t padded(int dim) { return at(ceil_div(dim, 16) * 16); }

// Floats of scratch for an item of kAttnMaxQueries queries, in whole cache lines.
std::size_t scratch_floats(int head_dim) {
  const std::size_t query = kAttnBlock + kTreeScores + padded(head_dim) * 3 + 4;
  return (query * kAttnMaxQueries + 15) / 16 * 16;
}

// Spans that rows of a sequence look at: [first, end).
struct Spans {
  int first, end;
};
Spans spans_of(std::int32_t first_position, std::int32_t last_position, int window) {
  const int begin = window > 0 ? std::max(0, first_position - window + 1) : 0;
  return {begin / kAttnSpan, last_position / kAttnSpan + 1};
}

}  // namespace

std::size_t kv_format(DType dtype) {
  if (dtype == DType::kBF16) return 0;
  if (dtype == DType::kF16) return 1;
  CHECK(dtype == DType::kF32) << "KV cannot be kept as " << dtype_name(dtype);
  return 2;
}

void CpuAttention::list_rows(Tensor q, const AttentionShape& shape, const Batch& batch,
                             Tensor out) {
  const int group_dim = shape.heads / shape.kv_heads * shape.head_dim;
  rows_.resize(at(batch.rows) * at(shape.kv_heads));
  for (const BatchSeq& seq : batch.seqs)
    for (int i = 0; i < seq.rows; ++i) {
      const int row = seq.first_row + i;
      const std::uint64_t nodes = seq.is_chain ? 0 : batch.mask[at(row)];
      const std::int32_t position =
          nodes == 0 ? seq.base + i : seq.base + seq.chain + std::popcount(nodes) - 1;
      for (int h = 0; h < shape.kv_heads; ++h)
        rows_[at(h) * at(batch.rows) + at(row)] = {.position = position,
                                                   .first = seq.first_slot,
                                                   .nodes = nodes,
                                                   .q = q.row_f32(row) + h * group_dim,
                                                   .out = out.row_f32(row) + h * group_dim};
    }
}

// Whole groups of queries over all their spans where that gives every worker enough to do; else
// spans are divided, and groups made smaller as far as they still share the keys they load.
CpuAttention::Cut CpuAttention::choose_cut(const AttentionShape& shape, const Batch& batch) const {
  constexpr int kItemsPerWorker = 4, kFewestQueries = 8;
  const int wanted = kItemsPerWorker * pool_.size();
  const auto count_items = [&](int queries, bool by_span) {
    int items = 0;
    for (const BatchSeq& seq : batch.seqs) {
      const Spans spans = spans_of(seq.base, seq.base + seq.rows - 1, shape.window);
      items += ceil_div(seq.rows * shape.heads / shape.kv_heads, queries) *
               (by_span ? spans.end - spans.first : 1);
    }
    return std::max(1, items * shape.kv_heads);
  };
  int queries = kAttnMaxQueries;
  while (queries > kFewestQueries && count_items(queries, true) < wanted) queries /= 2;
  return {queries, ceil_div(wanted, count_items(queries, false))};
}

// `whole` with its spans divided among at most `parts` items.
void CpuAttention::add_items(const AttnItem& whole, int parts) {
  const int spans = whole.end_span - whole.first_span;
  const int each = ceil_div(spans, std::min(parts, spans));
  if (each == spans) {
    items_.push_back(whole);
    partial_of_.push_back(kNone);
    return;
  }
  const std::size_t span_floats = at(whole.count) * (padded(whole.head_dim) + 2);
  merges_.push_back({partial_floats_, static_cast<int>(items_.size()), spans});
  for (int span = whole.first_span; span < whole.end_span; span += each) {
    AttnItem part = whole;
    part.first_span = span;
    part.end_span = std::min(span + each, whole.end_span);
    items_.push_back(part);
    partial_of_.push_back(partial_floats_);
    partial_floats_ += at(part.end_span - part.first_span) * span_floats;
  }
}

void CpuAttention::list_items(const KvLayer& kv, const AttentionShape& shape, const Batch& batch,
                              Cut cut) {
  const int group = shape.heads / shape.kv_heads;
  const std::int64_t head_elements = std::int64_t{shape.head_dim} * kPageTokens;
  const std::int64_t head_bytes =
      head_elements * static_cast<std::int64_t>(dtype_bytes(kv.k.dtype()));
  items_.clear();
  partial_of_.clear();
  merges_.clear();
  partial_floats_ = 0;
  work_ = 0;
  for (const BatchSeq& seq : batch.seqs)
    for (int h = 0; h < shape.kv_heads; ++h)
      for (int first = 0; first < seq.rows * group; first += cut.queries) {
        const AttnRow* rows = &rows_[at(h) * at(batch.rows) + at(seq.first_row)];
        const int count = std::min(cut.queries, seq.rows * group - first);
        std::int32_t low = rows[first / group].position, high = low;
        for (int r = first / group; r <= (first + count - 1) / group; ++r) {
          low = std::min(low, rows[r].position);
          high = std::max(high, rows[r].position);
        }
        const Spans spans = spans_of(low, high, shape.window);
        work_ += std::int64_t{count} * (high + 1) * shape.head_dim * 2;
        add_items({.k = static_cast<const char*>(kv.k.data()) + h * head_bytes,
                   .v = static_cast<const char*>(kv.v.data()) + h * head_bytes,
                   .pages = batch.pages.data() + seq.first_page,
                   .page_stride = head_elements * shape.kv_heads,
                   .head_dim = shape.head_dim,
                   .group = group,
                   .scale = shape.scale,
                   .window = shape.window,
                   .rows = rows,
                   .first = first,
                   .count = count,
                   .tree_start = seq.base + seq.chain,
                   .first_span = spans.first,
                   .end_span = spans.end,
                   .partial = nullptr,
                   .scratch = nullptr},
                  cut.parts);
      }
}

void CpuAttention::reserve(int head_dim) {
  const std::size_t scratch_bytes = scratch_floats(head_dim) * at(pool_.size()) * sizeof(float);
  if (scratch_.bytes() < scratch_bytes) scratch_ = Buffer(scratch_bytes);
  const std::size_t partial_bytes = partial_floats_ * sizeof(float);
  if (partials_.bytes() < partial_bytes) partials_ = Buffer(partial_bytes * 3 / 2);
}

void CpuAttention::merge_spans(const Merge& m) {
  const AttnItem& item = items_[at(m.item)];
  const std::size_t query_floats = padded(item.head_dim) + 2;
  float* partial = static_cast<float*>(partials_.data()) + m.partial;
  for (int i = 0; i < item.count; ++i) {
    const int query = item.first + i;
    kernels_.merge_spans(partial + at(i) * query_floats,
                         static_cast<std::int64_t>(at(item.count) * query_floats), m.spans,
                         item.head_dim,
                         item.rows[query / item.group].out + query % item.group * item.head_dim);
  }
}

void CpuAttention::report(const AttnItem& item, Tensor out, const Done& done) const {
  if (!done) return;
  for (int i = 0; i < item.count;) {
    const int query = item.first + i, head = query % item.group;
    const int heads = std::min(item.group - head, item.count - i);
    const float* values = item.rows[query / item.group].out + head * item.head_dim;
    const std::int64_t offset = values - out.f32();
    done(static_cast<int>(offset / out.dim(1)), offset % out.dim(1), heads * item.head_dim, values);
    i += heads;
  }
}

void CpuAttention::run(Tensor q, const KvLayer& kv, const AttentionShape& shape, const Batch& batch,
                       Tensor out, const Done& done) {
  list_rows(q, shape, batch, out);
  list_items(kv, shape, batch, choose_cut(shape, batch));
  reserve(shape.head_dim);
  const auto kernel = kernels_.attention[kv_format(kv.k.dtype())];
  const auto run_item = [&](int i, int worker) {
    AttnItem item = items_[at(i)];
    item.scratch =
        static_cast<float*>(scratch_.data()) + at(worker) * scratch_floats(shape.head_dim);
    if (partial_of_[at(i)] != kNone)
      item.partial = static_cast<float*>(partials_.data()) + partial_of_[at(i)];
    kernel(item);
    if (item.partial == nullptr) report(item, out, done);
  };
  const auto run_merge = [&](int merge, int) {
    const Merge& m = merges_[at(merge)];
    merge_spans(m);
    report(items_[at(m.item)], out, done);
  };
  if (work_ <= kAlone) {
    const FlushDenormals flush;
    for (std::size_t i = 0; i < items_.size(); ++i) run_item(static_cast<int>(i), 0);
    for (std::size_t i = 0; i < merges_.size(); ++i) run_merge(static_cast<int>(i), 0);
    return;
  }
  pool_.parallel_for(static_cast<int>(items_.size()), std::cref(run_item));
  if (!merges_.empty()) pool_.parallel_for(static_cast<int>(merges_.size()), std::cref(run_merge));
}

}  // namespace foretoken
