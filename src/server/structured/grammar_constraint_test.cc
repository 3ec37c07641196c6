#include "server/structured/grammar_constraint.h"

#include <memory>

#include <gtest/gtest.h>

#include "server/testing/byte_tokenizer.h"
#include "text/grammar_cache.h"

namespace foretoken {
namespace {

// Moves along this text, token by token, as the walk does.
void write(GrammarConstraint& constraint, const std::vector<Token>& tokens) {
  for (const Token token : tokens) {
    ASSERT_TRUE(constraint.allows(token));
    constraint.advance(token);
    constraint.foreseen();
  }
}

TEST(GrammarConstraint, what_is_certain_is_foreseen_as_the_model_cut_it_before) {
  const ByteTokenizerFolder folder({.merges = {{"n", "a"}, {"m", "e"}, {"na", "me"}}});
  const Tokenizer tokenizer(folder.path());
  constexpr Token kNa = kByteVocab, kMe = kByteVocab + 1, kName = kByteVocab + 2;
  GrammarCache cache(tokenizer);
  const auto grammar = cache.compile({GrammarSpec::Kind::kRegex, "name=[a-z]+,name=[0-9]", {}});
  ASSERT_TRUE(grammar);
  const auto start = [&](std::shared_ptr<CutMemory> cuts) {
    return GrammarConstraint(
        std::make_shared<const GrammarParts>(GrammarParts{.grammar = *grammar,
                                                          .guide = nullptr,
                                                          .tokenizer = tokenizer,
                                                          .stops = {},
                                                          .cuts = std::move(cuts)}));
  };
  const auto cuts = std::make_shared<CutMemory>();
  const std::vector<Token> usual{kName, '='}, own{'n', 'a', kMe, '='};
  {
    auto first = start(cuts);
    EXPECT_EQ(first.foreseen(), usual);
    write(first, own);
    EXPECT_TRUE(first.foreseen().empty()) << "free";
    write(first, byte_tokens("xy,"));
    EXPECT_EQ(first.foreseen(), usual) << "behind another token";
    write(first, {kNa, 'm'});
  }
  auto second = start(cuts);
  EXPECT_EQ(second.foreseen(), own);
  write(second, own);
  write(second, byte_tokens("z,"));
  EXPECT_EQ(second.foreseen(), (std::vector<Token>{kNa, 'm', 'e', '='})) << "as far as it is known";
  write(second, {kName});
  EXPECT_EQ(start(cuts).foreseen(), own);
  auto third = start(cuts);
  write(third, {kName, '=', 'z', ','});
  EXPECT_EQ(third.foreseen(), usual) << "as it was cut last";
  EXPECT_EQ(start(std::make_shared<CutMemory>()).foreseen(), usual);
  EXPECT_EQ(start(nullptr).foreseen(), usual);
}

}  // namespace
}  // namespace foretoken
