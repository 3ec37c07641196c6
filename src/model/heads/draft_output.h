#pragma once
// DraftOutput: the output matrix of a draft model for the tokens that it proposes (DraftedTokens):
// rows of the whole matrix, packed again. A step reads these rows and no others. Not the model: what
// scales and caps logits is its own. Engine thread only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/ops/load_ops.h"
#include "backend/ops/step_ops.h"
#include "model/heads/drafted_tokens.h"

namespace foretoken {

class DraftOutput {
 public:
  // whole: [vocab, hidden]; it and ops outlive this. Rows of codes become codes of 8 bits where
  // `format` says floats.
  DraftOutput(LoadOps& ops, const PackedLinear& whole, DType dtype, const WeightFormat& format,
              DraftedTokens tokens);

  // Tokens of a text, oldest first, between forwards: those that are new are proposed, too. Where
  // memory lacks for them they are not.
  void see(std::span<const Token> text);

  // By column of logits(), until the next see().
  std::span<const Token> tokens() const { return tokens_.list(); }
  std::int64_t most_columns() const { return tokens_.most(); }
  std::size_t bytes() const;                         // of weights, when all groups are full
  std::size_t logit_bytes(std::int64_t rows) const;  // that logits() takes of the scratch, at most

  // hidden [n, hidden] -> [n, tokens().size()]
  Tensor logits(StepOps& ops, Tensor hidden);

 private:
  std::unique_ptr<PackedLinear> pack(std::span<const Token> rows) const;
  void put(StepOps& ops, const PackedLinear& part, Tensor hidden, Tensor out, std::int64_t column);

  LoadOps& ops_;
  const PackedLinear& whole_;
  const DType dtype_;
  const WeightFormat format_;
  DraftedTokens tokens_;
  std::unique_ptr<PackedLinear> always_;
  std::vector<std::unique_ptr<PackedLinear>> groups_;  // null: empty
  std::vector<std::int32_t> every_row_;
};

}  // namespace foretoken
