#include "text/grammar.h"

#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "text/rust_bridge.h"

namespace foretoken {
namespace {

const char* name_of(GrammarSpec::Tail tail) {
  switch (tail) {
    case GrammarSpec::Tail::kNone:
      return "none";
    case GrammarSpec::Tail::kWhite:
      return "white";
    case GrammarSpec::Tail::kAny:
      return "any";
  }
  return "none";
}

std::string layout_json(const GrammarSpec& spec) {
  const auto& own = spec.layout.whitespace_pattern;
  const auto pattern = own ? boost::json::value(*own) : boost::json::value();
  return boost::json::serialize(boost::json::object{{"whitespace_pattern", pattern},
                                                    {"compact", spec.layout.is_compact},
                                                    {"tail", name_of(spec.tail)},
                                                    {"balanced", spec.is_balanced}});
}

}  // namespace

void GrammarVocabulary::Free::operator()(FtVocabulary* vocabulary) const {
  ft_vocabulary_free(vocabulary);
}
void Grammar::Free::operator()(FtGrammar* grammar) const { ft_grammar_free(grammar); }
void GrammarMatcher::Free::operator()(FtMatcher* matcher) const { ft_matcher_free(matcher); }

GrammarVocabulary::GrammarVocabulary(FtVocabulary* vocabulary)
    : vocabulary_(vocabulary), mask_words_(ft_vocabulary_mask_words(vocabulary)) {}

Result<GrammarVocabulary> GrammarVocabulary::of(const Tokenizer& tokenizer) {
  FtBuffer error{};
  FtVocabulary* vocabulary = ft_vocabulary_new(tokenizer.handle(), &error);
  if (vocabulary == nullptr)
    return Refusal{"grammars do not work with this tokenizer: " + take(error)};
  return GrammarVocabulary(vocabulary);
}

// The thread sanitizer does not see how Rust's threads agree, and takes all that one of them has
// made for a race. So there the caller compiles, without a limit.
#ifdef __SANITIZE_THREAD__
constexpr bool kHasThread = false;
#else
constexpr bool kHasThread = true;
#endif

Result<std::shared_ptr<const Grammar>> Grammar::compile(const GrammarVocabulary& vocabulary,
                                                        const GrammarSpec& spec,
                                                        std::chrono::milliseconds limit) {
  FtBuffer error{};
  const auto limit_ms = static_cast<std::uint64_t>(kHasThread ? limit.count() : 0);
  const std::string layout = layout_json(spec);
  FtGrammar* grammar =
      ft_grammar_new(vocabulary.vocabulary_.get(), static_cast<std::uint32_t>(spec.kind),
                     span_of(spec.source), span_of(layout), limit_ms, &error);
  if (grammar == nullptr) return Refusal{take(error)};
  return std::shared_ptr<const Grammar>(new Grammar(grammar, vocabulary.mask_words()));
}

GrammarMatcher Grammar::start() const {
  FtBuffer error{};
  GrammarMatcher matcher(ft_matcher_new(grammar_.get(), &error));
  if (!matcher.matcher_) matcher.fault_ = take(error);
  return matcher;
}

bool Grammar::is_spoiled() const { return ft_grammar_is_spoiled(grammar_.get()); }

// Each call of the library either succeeds, or leaves the reason and no matcher behind.
bool GrammarMatcher::mask(std::span<std::uint32_t> words) {
  FtBuffer error{};
  bool may_end = false;
  if (matcher_ && ft_matcher_mask(matcher_.get(), words.data(), words.size(), &may_end, &error))
    return true;
  fail(error);
  return false;
}

bool GrammarMatcher::may_end() {
  FtBuffer error{};
  bool answer = false;
  if (!matcher_ || !ft_matcher_may_end(matcher_.get(), &answer, &error)) fail(error);
  return answer;
}

int GrammarMatcher::count_allowed(std::span<const Token> tokens) {
  FtBuffer error{};
  std::size_t answer = 0;
  static_assert(sizeof(Token) == sizeof(std::uint32_t));
  if (!matcher_ || !ft_matcher_count_allowed(matcher_.get(),
                                             reinterpret_cast<const std::uint32_t*>(tokens.data()),
                                             tokens.size(), &answer, &error))
    fail(error);
  return static_cast<int>(answer);
}

bool GrammarMatcher::advance(Token token) {
  FtBuffer error{};
  if (matcher_ && ft_matcher_advance(matcher_.get(), static_cast<std::uint32_t>(token), &error))
    return true;
  fail(error);
  return false;
}

bool GrammarMatcher::advance_text(std::string_view text) {
  FtBuffer error{};
  bool is_allowed = false;
  if (!matcher_ || !ft_matcher_advance_text(matcher_.get(), span_of(text), &is_allowed, &error))
    fail(error);
  return is_allowed;
}

std::size_t GrammarMatcher::beyond() const {
  return matcher_ ? ft_matcher_beyond(matcher_.get()) : 0;
}

bool GrammarMatcher::roll_back(int tokens) {
  FtBuffer error{};
  if (matcher_ && ft_matcher_roll_back(matcher_.get(), static_cast<std::size_t>(tokens), &error))
    return true;
  fail(error);
  return false;
}

bool GrammarMatcher::has_ended() const { return matcher_ && ft_matcher_has_ended(matcher_.get()); }

std::string GrammarMatcher::forced() {
  FtBuffer bytes{}, error{};
  if (!matcher_ || !ft_matcher_forced(matcher_.get(), &bytes, &error)) {
    fail(error);
    return {};
  }
  return take(bytes);
}

GrammarMatcher GrammarMatcher::fork() const {
  FtBuffer error{};
  GrammarMatcher other(matcher_ ? ft_matcher_fork(matcher_.get(), &error) : nullptr);
  other.fault_ = fault_;
  if (matcher_ && !other.matcher_) other.fail(error);
  return other;
}

void GrammarMatcher::fail(FtBuffer error) {
  matcher_.reset();
  if (!fault_.empty()) return ft_buffer_free(error);
  if (error.data != nullptr) fault_ = take(error);
  if (fault_.empty()) fault_ = "the grammar failed";
}

}  // namespace foretoken
