#include "text/detokenizer.h"

#include <span>
#include <utility>

#include "text/utf8.h"

namespace foretoken {

std::string Detokenizer::push(Token token) {
  // Skipped before decoding, as decode does: a run of bytes goes on across a skipped token.
  if (!tokenizer_->is_known(token)) return {};
  if (special_ == SpecialText::kSkip && tokenizer_->is_special(token)) return {};
  switch (tokenizer_->piece_join()) {
    case PieceJoin::kByteLevel: {
      std::string text;
      held_ += tokenizer_->piece(token);
      held_.erase(0, append_complete_utf8(held_, text));
      return text;
    }
    case PieceJoin::kByteRuns: {
      if (tokenizer_->is_byte(token)) {
        held_ += tokenizer_->piece(token);
        return {};
      }
      std::string text = take_run();
      text += tokenizer_->piece(token);
      return strip_front(std::move(text));
    }
    case PieceJoin::kContextual:
      return push_contextual(token);
  }
  return {};
}

std::string Detokenizer::finish() {
  switch (tokenizer_->piece_join()) {
    case PieceJoin::kByteLevel:
      return lossy_utf8(std::exchange(held_, {}));
    case PieceJoin::kByteRuns:
      return strip_front(take_run());
    case PieceJoin::kContextual:
      break;
  }
  const std::span<const Token> window = window_;
  const std::size_t shown = tokenizer_->decode(window.first(window_read_), special_).size();
  std::string all = tokenizer_->decode(window, special_);
  window_.clear();
  window_read_ = 0;
  return all.size() > shown ? all.substr(shown) : std::string();
}

std::string Detokenizer::pending() const {
  if (tokenizer_->piece_join() != PieceJoin::kByteRuns || !is_valid_utf8(held_)) return {};
  return Detokenizer(*this).finish();
}

// A run is one piece of UTF-8, or, if any byte of it is wrong, one replacement character per byte.
std::string Detokenizer::take_run() {
  std::string run = std::exchange(held_, {});
  if (is_valid_utf8(run)) return run;
  std::string replaced;
  for (std::size_t i = 0; i < run.size(); ++i) replaced += kReplacement;
  return replaced;
}

std::string Detokenizer::strip_front(std::string text) {
  std::size_t stripped = 0;
  while (spaces_to_strip_ > 0 && stripped < text.size()) {
    if (text[stripped] != ' ') {
      spaces_to_strip_ = 0;
      break;
    }
    ++stripped;
    --spaces_to_strip_;
  }
  return text.erase(0, stripped);
}

// Decodes a window of recent tokens twice, without and with the new ones: the difference is new
// text.
std::string Detokenizer::push_contextual(Token token) {
  window_.push_back(token);
  const std::span<const Token> window = window_;
  const std::size_t shown = tokenizer_->decode(window.first(window_read_), special_).size();
  std::string all = tokenizer_->decode(window, special_);
  if (all.size() <= shown || all.ends_with(kReplacement)) return {};
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(window_read_));
  window_read_ = window_.size();
  return all.substr(shown);
}

}  // namespace foretoken
