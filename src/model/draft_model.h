#pragma once
// DraftModel: the model inside a drafter: rows in, guesses out. A row at KV slot p is the token
// x[p], and for models that read features also what was found out about the token before it: f[p -
// 1], a vector made from the target's features, or by this model itself further down a tree. Models
// of several heads, one for each depth, read more: what heads made of the row before, for the heads
// behind them; that is carried from row to row. The KV at slot p thus depends on x[0] .. x[p] only.
// Not a drafter: it grows no trees and keeps no sequences. Engine thread only.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/forward_size.h"
#include "backend/kv_shape.h"
#include "model/decoder/decoder.h"

namespace foretoken {

// Views of step-lifetime scratch, float32, one row per row of the batch or of those that are
// listed.
struct DraftRows {
  Tensor hidden;   // what logits() reads
  Tensor feature;  // what rows behind these read of them; empty for models without features
  // Rows of the batch, ascending, where not all are there; see DraftInput::reads_logit_rows.
  std::vector<std::int32_t> rows = {};
};

// What a forward reads beside the batch; empty for models without features.
struct DraftInput {
  // Of text, depth 0: [batch.rows, feature_width], of the token before each row. Further down: for
  // each row DraftRows::feature of the row above it. It may be written over.
  Tensor features = {};
  // Of text: [batch.seqs, carried_width], DraftRows::feature of the row before the first of each
  // sequence, or whatever is best in its stead. Empty where nothing is carried.
  Tensor carried = {};
  int depth = 0;  // of the rows in their trees; 0: text that was committed, and the roots behind it
  // Nobody reads results but those of batch.logit_rows, of which there may be none: those of others
  // may be missing.
  bool reads_logit_rows = false;
};

class DraftModel {
 public:
  virtual ~DraftModel() = default;

  virtual FeatureTaps taps() const { return {}; }  // of the target, for features()
  virtual std::int64_t tap_width() const { return 0; }
  virtual int feature_width() const { return 0; }  // 0: reads tokens only
  virtual int carried_width() const {
    return 0;
  }  // 0: text is read with the target's features only

  // It has no keys and values of its own, and reads those of the target: that text went by unread
  // makes no difference to it.
  virtual bool reads_target_kv() const { return false; }

  // The features of some rows of the target, [rows.size(), feature_width].
  virtual Tensor features(const Features& target, std::span<const std::int32_t> rows) {
    (void)target;
    (void)rows;
    return {};
  }

  // Upper bounds of what features(), forward() and logits() of `rows` rows take from the scratch
  // of a step. forward_size() is the size of that forward.
  virtual std::size_t feature_bytes(std::int64_t rows) const {
    (void)rows;
    return 0;
  }
  virtual std::size_t forward_bytes(std::int64_t rows) const = 0;
  virtual std::size_t logit_bytes(std::int64_t rows) const {
    return static_cast<std::size_t>(rows * logit_width()) * sizeof(float);
  }
  virtual ForwardSize forward_size(std::int64_t rows) const = 0;
  virtual std::int64_t hidden_width() const = 0;  // of what logits() reads
  virtual std::int64_t logit_width() const = 0;   // of what it gives, at most

  // Memory for the KV of so many pages; once, before the first forward.
  virtual void allocate_kv(int num_pages) = 0;
  virtual KvShape kv_shape() const = 0;
  virtual std::size_t weight_bytes() const = 0;
  // Token ids from here on are unknown to it: they are read as token 0.
  virtual std::int64_t vocab() const = 0;

  // Computes all rows and stores their KV. The batch is afterwards what it was.
  virtual DraftRows forward(Batch& batch, const DraftInput& input) = 0;

  // [n, width of hidden] -> [n, tokens that it proposes].
  virtual Tensor logits(Tensor hidden) = 0;
  // The target's token of each column of logits(), below vocab(), or kNoToken where it has none.
  // Empty: column i is token i. Valid until the next see().
  virtual std::span<const Token> target_tokens() const { return {}; }
  // Tokens of a text that it drafts for, oldest first, between forwards: it may propose them from
  // now on.
  virtual void see(std::span<const Token> text) { (void)text; }
};

}  // namespace foretoken
