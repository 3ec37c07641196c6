#pragma once
// AttentionItems: the attention of a batch in layers of one shape, divided for a number of workers:
// everything that is the same in each of these layers. Plain data once built; it points into the
// batch, which must stay as it is.

#include <cstddef>
#include <vector>

#include "backend/attention_shape.h"
#include "backend/cpu/table/op_kernels.h"
#include "backend/forward_size.h"
#include "batch/batch.h"

namespace foretoken {

struct AttentionItems final : AttentionPlan {
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Item {
    AttnItem call;  // what depends on the layer is filled in when it runs
    int kv_head;
    int first_row;        // row of the batch that is call.rows[0]
    std::size_t partial;  // floats into the memory for partial results, or kNone: it has all spans
  };
  // Spans of one group of queries that several items compute.
  struct Merge {
    std::size_t partial;  // of each span count * query_floats, as AttnItem::partial has them
    int item;             // the first of its items
    int spans;
  };

  std::vector<AttnRow> rows;  // of the batch
  std::vector<Item> items;
  std::vector<Merge> merges;
  std::size_t partial_floats = 0;
  std::int64_t work = 0;  // multiply-adds
  int most_queries;       // of an item, a multiple of 16

  explicit AttentionItems(int queries) : most_queries(queries) {}

  // Vectors keep their memory.
  void build(const AttentionShape& new_shape, const Batch& new_batch, int workers);

  // Upper bounds in bytes of a plan, and of the memory for partial results, of any batch of a size.
  static std::size_t most_bytes(const ForwardSize& size, int workers);
  std::size_t most_partial_bytes(const ForwardSize& size, int workers) const;
  std::size_t bytes() const {
    return rows.capacity() * sizeof(AttnRow) + items.capacity() * sizeof(Item) +
           merges.capacity() * sizeof(Merge);
  }

  // Floats of a partial result, and of a worker's scratch in whole cache lines.
  std::size_t query_floats() const;
  std::size_t scratch_floats() const;

 private:
  struct Cut {
    int queries;  // of an item
    int parts;    // into which an item's spans are divided, where it has as many
  };
  void list_rows();
  Cut choose_cut(int workers) const;
  void list_items(const BatchSeq& seq, int kv_head, Cut cut);
  void add_items(const Item& whole, int parts);
};

}  // namespace foretoken
