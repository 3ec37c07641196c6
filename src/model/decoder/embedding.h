#pragma once
// Embedding: the vectors of tokens. A matrix that is only looked up is kept as plain rows, so that
// a token touches its own cache lines and no others; one that is the output matrix, too, is kept
// once, packed for products. Immutable after construction.

#include <memory>
#include <span>
#include <string>

#include "backend/ops/step_ops.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class Embedding {
 public:
  // is_head: it is multiplied with, too. Throws Error naming a tensor that is missing or misshapen.
  Embedding(WeightReader& read, const std::string& name, std::int64_t vocab, std::int64_t width,
            bool is_head);

  void embed(StepOps& ops, std::span<const Token> tokens, Tensor out) const;

  const PackedLinear* packed() const { return packed_.get(); }  // null: plain rows
  const Tensor& rows() const { return rows_; }                  // empty: packed
  // What a step that looks `tokens` tokens up does not read, where no product reads all.
  double unread_bytes(std::int64_t tokens) const;

 private:
  Tensor rows_;
  std::unique_ptr<PackedLinear> packed_;
  std::int64_t vocab_;
  bool is_head_;
};

}  // namespace foretoken
