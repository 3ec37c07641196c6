#pragma once
// ThoughtsFirst: the constraint of an answer that the model may think before. What is thought is
// free and costs no mask; behind the mark of its end the grammar binds the text.
//   a prompt that opened the reasoning   free until its end
//   one that did not                     the mark of the beginning, or the answer at once
//   behind the end                       up to two line breaks, which belong to the format
//   a token that holds more than the mark
//                                        may come where the rest fits what follows
// Not the budget of thoughts: see thought_budget.h. Threads as TokenConstraint's.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/token_constraint.h"
#include "server/chat/thought_budget.h"
#include "server/structured/grammar_constraint.h"
#include "server/structured/shared_source.h"
#include "text/dialogue/thought_meter.h"

namespace foretoken {

// What the constraints of a request have in common.
struct ThoughtsFirstParts {
  std::shared_ptr<const GrammarParts> answer;
  ThoughtPlace place;
  std::int64_t vocab = 0;
  std::vector<Token> closers;  // that hold the end of the mark of the end, and text behind it
  std::vector<Token> breaks;   // that begin with a line break
};

class ThoughtsFirst final : public TokenConstraint {
 public:
  explicit ThoughtsFirst(std::shared_ptr<const ThoughtsFirstParts> parts);

  std::span<const std::uint32_t> allowed() override;
  bool allows(Token token) override;
  int count_allowed(std::span<const Token> tokens) override;
  void advance(Token token) override;
  bool has_ended() const override { return answer_ != nullptr && answer_->has_ended(); }
  const std::string& fault() const override {
    return answer_ != nullptr ? answer_->fault() : kNone;
  }
  std::vector<Token> foreseen() override;

 private:
  enum class At {
    kOpening,  // the mark of the beginning may come, or the answer where there is one
    kInside,
    kBehind,  // the mark of the end; line breaks may come
    kAnswer,
  };
  static const std::string kNone;

  std::string_view piece(Token token) const { return parts_->answer->tokenizer.piece(token); }
  // What is left of the mark of the beginning.
  std::string_view unopened() const { return parts_->place.style->open.substr(opened_); }
  bool may_open(std::string_view text) const;
  bool may_be_thought(std::string_view text) const;
  // Whether the answer may begin with this text behind line breaks.
  bool may_follow(std::string_view text, std::size_t breaks) const;
  void think(std::string_view text, Token last);
  void begin_answer(std::string_view text, Token last);

  std::shared_ptr<const ThoughtsFirstParts> parts_;
  At at_;
  std::size_t opened_ = 0;  // bytes of the mark of the beginning
  ThoughtMeter meter_;
  std::size_t breaks_ = 0;                     // behind the end
  std::unique_ptr<GrammarConstraint> answer_;  // null: inside, or only the mark may go on
  std::vector<std::uint32_t> mask_;
};

using ThoughtsFirstSource = SharedSource<ThoughtsFirst, ThoughtsFirstParts>;

// The constraint of an answer with `answer`, behind the thoughts that `place` leaves room for.
std::shared_ptr<const ConstraintSource> behind_thoughts(std::shared_ptr<const GrammarParts> answer,
                                                        const ThoughtPlace& place,
                                                        std::int64_t vocab);

}  // namespace foretoken
