#pragma once
// Grammars: what a text may be, compiled against a tokenizer's vocabulary, and where a text stands
// in one. Masks are a function of the tokens of a text alone, so they do not depend on how many
// tokens at a time were found. Not a sampler and not the engine's: token ids and bits.
//   GrammarSpec        what a client asks for, as text
//   GrammarVocabulary  made once per tokenizer
//   Grammar            a compiled specification; shared by texts
//   GrammarMatcher     one text's place in it
// Threads: const use from any number of threads; a matcher by one at a time. The matchers of a
// grammar share a lexer behind a lock.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/types.h"
#include "text/tokenizer.h"

struct FtVocabulary;
struct FtGrammar;
struct FtMatcher;
struct FtBuffer;

namespace foretoken {

// How JSON may be laid out.
struct JsonLayout {
  // A regular expression of what may stand between tokens of JSON; nullopt: a space, or a line
  // break and the indentation that the depth explains.
  std::optional<std::string> whitespace_pattern = {};
  bool is_compact = false;  // one space after commas and colons, none elsewhere

  bool operator==(const JsonLayout&) const = default;
};

struct GrammarSpec {
  enum class Kind : std::uint32_t {
    kJsonSchema,
    kRegex,          // of the whole text
    kEbnf,           // "root ::= ..." as xgrammar and llama.cpp have it, or Lark
    kStructuralTag,  // SGLang's, as JSON
    kChoice,         // a JSON list of texts
  };
  // What may follow a text that is complete inside of the token that completes it.
  enum class Tail {
    kNone,
    kWhite,  // white space; of JSON schemas
    kAny,    // of structural tags whose text cannot go on where it is complete
  };
  Kind kind = Kind::kJsonSchema;
  std::string source;
  JsonLayout layout = {};
  Tail tail = Tail::kNone;
  // Of structural tags: brackets and quotes stand where JSON has them, so the depth can be told.
  bool is_balanced = false;

  bool operator==(const GrammarSpec&) const = default;
};

class GrammarVocabulary {
 public:
  // Refused: tokenizers whose tokens stand for nothing by themselves. Takes some 100 ms for 128k
  // tokens. The tokenizer need not outlive it.
  static Result<GrammarVocabulary> of(const Tokenizer& tokenizer);

  std::size_t mask_words() const { return mask_words_; }  // of 32 bits, one for each token

 private:
  friend class Grammar;
  struct Free {
    void operator()(FtVocabulary* vocabulary) const;
  };
  explicit GrammarVocabulary(FtVocabulary* vocabulary);

  std::unique_ptr<FtVocabulary, Free> vocabulary_;
  std::size_t mask_words_;
};

class GrammarMatcher {
 public:
  // Bit per token that may come next; none after the end. Longer than the vocabulary: zeros.
  // False, and fault() says why: nothing may come next, or finding it out is too much work. Such a
  // matcher fails for ever.
  bool mask(std::span<std::uint32_t> words);
  bool may_end();  // the text is complete; it may go on all the same unless has_ended()
  bool allows(Token token) { return count_allowed({&token, 1}) == 1; }
  int count_allowed(std::span<const Token> tokens);  // of these, one after the other
  bool advance(Token token);                         // by a token that it allows
  bool advance_text(std::string_view text);          // by part of a token; false: not allowed
  bool roll_back(int tokens);
  bool has_ended() const;  // it is complete, and nothing may follow
  // Bytes of the last token, or of the last text, that stand behind the end (Tail::kAny).
  std::size_t beyond() const;

  // The bytes that every continuation begins with.
  std::string forced();

  const std::string& fault() const { return fault_; }  // empty: none

  // Another one at the same place.
  GrammarMatcher fork() const;

 private:
  friend class Grammar;
  struct Free {
    void operator()(FtMatcher* matcher) const;
  };
  explicit GrammarMatcher(FtMatcher* matcher) : matcher_(matcher) {}
  void fail(FtBuffer error);

  std::unique_ptr<FtMatcher, Free> matcher_;  // null after a fault
  std::string fault_;
};

class Grammar {
 public:
  // Refused, in a sentence that names keyword and place: what is wrong, not supported, too large,
  // too ambiguous, or takes longer than the limit (0: there is none). Then a thread goes on with it
  // all the same, at the lowest priority; there are four of those at most.
  static Result<std::shared_ptr<const Grammar>> compile(
      const GrammarVocabulary& vocabulary, const GrammarSpec& spec,
      std::chrono::milliseconds limit = std::chrono::seconds(5));

  GrammarMatcher start() const;

  // A text's matching failed in a way that may have spoiled what all of them share: compile anew.
  bool is_spoiled() const;
  std::size_t mask_words() const { return mask_words_; }

 private:
  struct Free {
    void operator()(FtGrammar* grammar) const;
  };
  Grammar(FtGrammar* grammar, std::size_t mask_words)
      : grammar_(grammar), mask_words_(mask_words) {}

  std::unique_ptr<FtGrammar, Free> grammar_;
  std::size_t mask_words_;
};

}  // namespace foretoken
