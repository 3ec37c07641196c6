#pragma once
// CallConstraint: an output that is free but for the calls of tools in it.
//   outside of calls   it bars nothing and costs no mask
//   inside of a call   from its mark to its end the grammar of the family's calls binds the text
//   a token that ends a call
//                      may go on with anything, which is read as what follows
//   a token that holds the mark and a beginning which the grammar bars
//                      the call is left to the parser of calls, as text
//   families without a mark
//                      an answer that begins like a call is bound once it names a tool; a list of
//                      calls in Python anywhere
// Threads as TokenConstraint's. make_call_constraint: what the tools of a request ask for.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "server/structured/call_grammar.h"
#include "server/structured/grammar_constraint.h"
#include "server/structured/shared_source.h"
#include "text/dialogue/call_style.h"
#include "text/dialogue/dialogue.h"
#include "text/dialogue/thought_meter.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {

// What the constraints of a request have in common.
struct CallParts {
  std::shared_ptr<const GrammarParts> call;  // from behind the mark
  CallMarks marks;
  BareCalls bare = {};
  // Bytes that may stand between two calls of which the second has no mark; empty: each has.
  std::string between = {};
  // Of calls in Python, which begin anywhere in the text; null: the family has none.
  std::shared_ptr<const ToolSchemas> python_tools = nullptr;
  // In whose reasoning there are no calls; null: they may be anywhere.
  const ReasoningStyle* reasoning = nullptr;
  bool begins_inside = false;
  // Where the grammar cannot say what may come next, the text ends; else it is free from there on.
  bool is_strict = false;
};

class CallConstraint final : public TokenConstraint {
 public:
  explicit CallConstraint(std::shared_ptr<const CallParts> parts);

  std::span<const std::uint32_t> allowed() override;
  bool allows(Token token) override { return count_allowed({&token, 1}) == 1; }
  int count_allowed(std::span<const Token> tokens) override;
  void advance(Token token) override;
  bool has_ended() const override { return false; }
  const std::string& fault() const override { return fault_; }
  std::vector<Token> foreseen() override;

 private:
  void read(std::string_view text, Token last);
  void read_python(Token last);
  // Whether the answer has turned out to be a call without a mark.
  bool begins_bare(std::string_view text, Token last);
  std::unique_ptr<GrammarConstraint> started(std::string_view text, Token last) const;
  void begin_call(const std::string& text, Token last);
  void follow(std::unique_ptr<GrammarConstraint> call, std::string_view text, Token last);
  void end_call(std::string_view text, Token last);
  // Whether the grammar failed just now.
  bool has_failed();

  std::shared_ptr<const CallParts> parts_;
  std::optional<ThoughtMeter> thoughts_;  // until they are over
  std::string held_;                      // may be half a mark
  std::unique_ptr<GrammarConstraint> call_;
  std::unique_ptr<GrammarConstraint> bare_;  // what may be a call without a mark
  std::string bare_text_;                    // of it
  bool may_begin_bare_;
  bool is_between_ = false;
  bool is_open_;                          // a mark would be one
  std::vector<std::string_view> inside_;  // the marks of calls, then that of a section's end
  int calls_ = 0;
  std::string fault_;
};

using CallSource = SharedSource<CallConstraint, CallParts>;

// Null: nothing is bound. Refused: a `strict` tool that cannot be. tools: of a request, checked.
// dialogue: how its answers are read. Takes its time: for workers.
Result<std::shared_ptr<const ConstraintSource>> make_call_constraint(
    ServerContext& context, const boost::json::array& tools, const Dialogue& dialogue);

}  // namespace foretoken
