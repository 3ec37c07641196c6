#include "backend/cpu/attention/attention_items.h"

#include <algorithm>
#include <bit>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kTreeScores = 5 * kAttnSlots;
constexpr int kPiecesPerWorker = 4;

// Spans that rows of a sequence look at: [first, end).
struct Spans {
  int first, end;
};
Spans spans_of(std::int32_t first_position, std::int32_t last_position,
               const AttentionShape& shape) {
  return {shape.first_seen(first_position) / kAttnSpan, last_position / kAttnSpan + 1};
}

std::size_t padded(int dim) { return at(round_up(dim, 16)); }

}  // namespace

std::size_t AttentionItems::query_floats() const { return padded(shape.out_dim()) + 2; }

std::size_t AttentionItems::scratch_floats() const {
  const std::size_t dim = padded(shape.out_dim()), whole = at(round_up(shape.head_dim, 32));
  const std::size_t query = kAttnBlock + kTreeScores + dim + 2 * query_floats() + whole;
  const std::size_t gathered = dim * kAttnSlots;
  const std::size_t values = at(kAttnValuePages * kAttnSlots * shape.value_dim);
  // Queries, weights of a group and values of a span in tiles of bf16.
  constexpr std::size_t kGroup = 32;
  const std::size_t tiles =
      (at(most_queries) * whole + kGroup * kAttnBlock + kAttnSpan * whole) / 2 + 2 * kAttnSlots;
  return round_up(query * at(most_queries) + gathered + values + tiles, 16);
}

// Vectors grow to twice what is needed. Groups are of eight queries at least or all of a
// sequence's, spans are divided only where there are fewer items than wanted.
std::size_t AttentionItems::most_bytes(const ForwardSize& size, int workers) {
  const std::size_t parts = at(kPiecesPerWorker * workers);
  const std::size_t spans = at(size.context / kAttnSpan + 2);
  const std::size_t whole = at(size.rows) * at(size.attention.heads);
  return 2 * (at(size.rows) * sizeof(AttnRow) +
              (whole + parts * spans) * (sizeof(Item) + sizeof(Merge)));
}

std::size_t AttentionItems::most_partial_bytes(const ForwardSize& size, int workers) const {
  const std::size_t divided = std::min(at(size.rows) * at(size.attention.heads),
                                       at(kPiecesPerWorker * workers * most_queries));
  const std::size_t spans = at(size.context / kAttnSpan + 2);
  return divided * spans * (padded(size.attention.out_dim()) + 2) * sizeof(float);
}

void AttentionItems::build(const AttentionShape& new_shape, const Batch& new_batch, int workers) {
  shape = new_shape;
  batch = &new_batch;
  items.clear();
  merges.clear();
  partial_floats = 0;
  work = 0;
  list_rows();
  const Cut cut = choose_cut(workers);
  for (const BatchSeq& seq : batch->seqs)
    for (int h = 0; h < shape.kv_heads; ++h) list_items(seq, h, cut);
}

void AttentionItems::list_rows() {
  rows.resize(at(batch->rows));
  for (const BatchSeq& seq : batch->seqs)
    for (int i = 0; i < seq.rows; ++i) {
      const int row = seq.first_row + i;
      const std::uint64_t nodes = seq.is_chain ? 0 : batch->mask[at(row)];
      const std::int32_t position =
          nodes == 0 ? seq.base + i : seq.base + seq.chain + std::popcount(nodes) - 1;
      const int first = std::max(seq.first_slot, shape.first_seen(position));
      rows[at(row)] = {.position = position, .first = std::min(first, position), .nodes = nodes};
    }
}

// Whole groups of queries over all their spans where that gives every worker enough to do; else
// spans are divided, and groups made smaller as far as they still share the keys they load.
AttentionItems::Cut AttentionItems::choose_cut(int workers) const {
  constexpr int kFewestQueries = 8;
  const int wanted = kPiecesPerWorker * workers;
  const auto count_items = [&](int queries, bool by_span) {
    int count = 0;
    for (const BatchSeq& seq : batch->seqs) {
      const Spans spans = spans_of(seq.base, seq.base + seq.rows - 1, shape);
      count += ceil_div(seq.rows * shape.heads / shape.kv_heads, queries) *
               (by_span ? spans.end - spans.first : 1);
    }
    return std::max(1, count * shape.kv_heads);
  };
  int queries = most_queries;
  while (queries > kFewestQueries && count_items(queries, true) < wanted) queries /= 2;
  return {queries, ceil_div(wanted, count_items(queries, false))};
}

void AttentionItems::list_items(const BatchSeq& seq, int kv_head, Cut cut) {
  const int group = shape.heads / shape.kv_heads;
  const AttnRow* seq_rows = rows.data() + seq.first_row;
  for (int first = 0; first < seq.rows * group; first += cut.queries) {
    const int count = std::min(cut.queries, seq.rows * group - first);
    std::int32_t low = seq_rows[first / group].position, high = low;
    for (int r = first / group; r <= (first + count - 1) / group; ++r) {
      low = std::min(low, seq_rows[r].position);
      high = std::max(high, seq_rows[r].position);
    }
    const Spans spans = spans_of(low, high, shape);
    work += std::int64_t{count} * (high + 1) * (shape.head_dim + shape.out_dim());
    add_items({.call = {.k = nullptr,
                        .v = nullptr,
                        .q = nullptr,
                        .out = nullptr,
                        .row_stride = std::int64_t{shape.heads} * shape.head_dim,
                        .out_stride = std::int64_t{shape.heads} * shape.out_dim(),
                        .pages = batch->pages.data() + seq.first_page,
                        .page_stride = std::int64_t{shape.kv_heads} * shape.head_dim * kPageTokens,
                        .head_dim = shape.head_dim,
                        .value_dim = shape.out_dim(),
                        .group = group,
                        .scale = shape.scale * kLog2E,
                        .cap = shape.score_cap * kLog2E,
                        .rows = seq_rows,
                        .first = first,
                        .count = count,
                        .tree_start = seq.base + seq.chain,
                        .first_span = spans.first,
                        .end_span = spans.end,
                        .partial = nullptr,
                        .scratch = nullptr},
               .kv_head = kv_head,
               .first_row = seq.first_row,
               .partial = kNone},
              cut.parts);
  }
}

// `whole` with its spans divided among at most `parts` items.
void AttentionItems::add_items(const Item& whole, int parts) {
  const int first = whole.call.first_span, end = whole.call.end_span, spans = end - first;
  const int each = ceil_div(spans, std::min(parts, spans));
  if (each == spans) {
    items.push_back(whole);
    return;
  }
  merges.push_back({partial_floats, static_cast<int>(items.size()), spans});
  for (int span = first; span < end; span += each) {
    Item part = whole;
    part.call.first_span = span;
    part.call.end_span = std::min(span + each, end);
    part.partial = partial_floats;
    items.push_back(part);
    partial_floats +=
        at(part.call.end_span - part.call.first_span) * at(whole.call.count) * query_floats();
  }
}

}  // namespace foretoken
