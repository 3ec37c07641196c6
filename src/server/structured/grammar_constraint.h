#pragma once
// GrammarConstraint: a grammar's matcher as the engine sees it: a constraint of tokens, with the
// stop tokens of the request where the text may end. GrammarSource: what makes one for each choice
// of a request. Threads as TokenConstraint's.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "batch/token_constraint.h"
#include "server/context/server_context.h"
#include "server/structured/grammar_request.h"
#include "server/structured/layout_guide.h"
#include "server/structured/shared_source.h"
#include "text/cut_memory.h"
#include "text/grammar.h"

namespace foretoken {

// What the constraints of a request have in common.
struct GrammarParts {
  std::shared_ptr<const Grammar> grammar;
  // The same with JSON in the usual layout (LayoutGuide). Null: white space is not free.
  std::shared_ptr<const Grammar> guide;
  const Tokenizer& tokenizer;
  std::vector<Token> stops;                   // end the text where it may end
  std::shared_ptr<CutMemory> cuts = nullptr;  // null: what is foreseen is cut as by the tokenizer
};

class GrammarConstraint final : public TokenConstraint {
 public:
  explicit GrammarConstraint(std::shared_ptr<const GrammarParts> parts);

  std::span<const std::uint32_t> allowed() override;
  bool allows(Token token) override { return count_allowed({&token, 1}) == 1; }
  int count_allowed(std::span<const Token> tokens) override;
  void advance(Token token) override;
  bool has_ended() const override { return matcher_.has_ended(); }
  const std::string& fault() const override { return matcher_.fault(); }
  std::vector<Token> foreseen() override;

  // Moves behind text that is the end of the token `last`; false, and it stays where it is: such a
  // text may not come.
  bool take(std::string_view text, Token last);
  // Bytes of the last token or text that stand behind the end.
  std::size_t beyond() const { return matcher_.beyond(); }

 private:
  void follow(Token token);
  void remember(Token token);
  // As the model has cut it before; `text` is left with what is not known.
  std::vector<Token> remembered(std::string_view& text) const;
  std::optional<std::size_t> written_by(Token token, std::string_view expected) const;

  std::shared_ptr<const GrammarParts> parts_;
  GrammarMatcher matcher_;
  std::optional<LayoutGuide> guide_;  // until it has lost its way
  std::vector<std::uint32_t> mask_;
  std::vector<Token> tail_;  // the last tokens, because tokens depend on those before
  std::string expected_;     // bytes that come next, as far as known
};

using GrammarSource = SharedSource<GrammarConstraint, GrammarParts>;

// Compiles what the request asks for, or says why that cannot be. Takes its time: for workers.
Result<std::shared_ptr<const GrammarParts>> grammar_parts(ServerContext& context,
                                                          const GrammarRequest& request,
                                                          const std::vector<Token>& stops);

}  // namespace foretoken
