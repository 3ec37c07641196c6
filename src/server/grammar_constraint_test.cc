#include "server/grammar_constraint.h"

#include <memory>

#include <gtest/gtest.h>

#include "server/testing/byte_tokenizer.h"
#include "text/grammar_cache.h"

namespace foretoken {
namespace {

TEST(GrammarConstraint, what_comes_before_its_token_is_free) {
  const ByteTokenizerFolder folder({});
  const Tokenizer tokenizer(folder.path());
  GrammarCache cache(tokenizer);
  const auto grammar = cache.compile({GrammarSpec::Kind::kRegex, "ab", {}});
  ASSERT_TRUE(grammar);
  GrammarConstraint constraint(std::make_shared<const GrammarParts>(
      GrammarParts{*grammar, nullptr, tokenizer, {kByteEos}, '!'}));
  for (const Token token : byte_tokens("bb!")) {
    EXPECT_TRUE(constraint.allowed().empty());
    EXPECT_TRUE(constraint.allows('x'));
    EXPECT_FALSE(constraint.has_ended());
    constraint.advance(token);
  }
  EXPECT_FALSE(constraint.allowed().empty());
  EXPECT_TRUE(constraint.allows('a'));
  EXPECT_FALSE(constraint.allows('b'));
}

}  // namespace
}  // namespace foretoken
