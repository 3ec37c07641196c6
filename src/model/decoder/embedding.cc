#include "model/decoder/embedding.h"

namespace foretoken {

Embedding::Embedding(WeightReader& read, const std::string& name, std::int64_t vocab,
                     std::int64_t width, bool is_head)
    : vocab_(vocab), is_head_(is_head) {
  // Blocks that are stored take less than plain rows.
  if (is_head || read.keeps_blocks(name, MatrixRole::kHead))
    packed_ = read.linear({{name, vocab}}, width, Bias::kNone, MatrixRole::kHead);
  else
    rows_ = read.rows({name, vocab}, width);
}

void Embedding::embed(StepOps& ops, std::span<const Token> tokens, Tensor out) const {
  if (packed_)
    ops.embed(*packed_, tokens, out);
  else
    ops.look_up(rows_, tokens, out);
}

double Embedding::unread_bytes(std::int64_t tokens) const {
  if (is_head_ || tokens >= vocab_) return 0;
  const auto all = static_cast<double>(packed_ ? packed_->bytes() : rows_.bytes());
  return all * static_cast<double>(vocab_ - tokens) / static_cast<double>(vocab_);
}

}  // namespace foretoken
