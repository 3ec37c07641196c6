// The calls of every family, bound to their schemas and cut into tokens at changing places, with every
// drafter: what a call may hold is asked of the server, the tokens are drafted and verified by a real
// engine, and both calls arrive, whole and streamed.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "engine/testing/tiny_model.h"
#include "invariance/laboratory.h"
#include "invariance/matrix.h"
#include "server/testing/cut_calls_fixture.h"
#include "server/testing/two_calls.h"

namespace foretoken {
namespace {

constexpr std::size_t kLongestToken = 12;

// Lets through one text and no other, where another constraint bars none of it.
class OneText final : public TokenConstraint {
 public:
  OneText(std::unique_ptr<TokenConstraint> inner, std::vector<Token> tokens, Token vocab)
      : inner_(std::move(inner)),
        tokens_(std::move(tokens)),
        mask_((static_cast<std::size_t>(vocab) + 31) / 32) {}

  std::span<const std::uint32_t> allowed() override {
    std::ranges::fill(mask_, 0U);
    const auto next = static_cast<std::size_t>(next_token());
    const auto words = inner_->allowed();
    if (words.empty() || (next / 32 < words.size() && (words[next / 32] >> next % 32 & 1U) != 0))
      mask_[next / 32] = 1U << next % 32;
    return mask_;
  }
  bool allows(Token token) override { return token == next_token() && inner_->allows(token); }
  void advance(Token token) override {
    inner_->advance(token);
    ++at_;
  }
  bool has_ended() const override { return inner_->has_ended(); }
  const std::string& fault() const override { return inner_->fault(); }
  int count_allowed(std::span<const Token> tokens) override {
    const auto same =
        std::ranges::mismatch(tokens, std::span(tokens_).subspan(std::min(at_, tokens_.size())))
            .in1;
    return inner_->count_allowed({tokens.begin(), same});
  }
  std::vector<Token> foreseen() override { return inner_->foreseen(); }

 private:
  // A step that is planned ahead asks behind the end, too.
  Token next_token() const { return at_ < tokens_.size() ? tokens_[at_] : kByteEos; }

  std::unique_ptr<TokenConstraint> inner_;
  std::vector<Token> tokens_;  // with the end token
  std::size_t at_ = 0;
  std::vector<std::uint32_t> mask_;
};

struct OneTextSource final : ConstraintSource {
  OneTextSource(std::shared_ptr<const ConstraintSource> source, std::vector<Token> said, int size)
      : inner(std::move(source)), tokens(std::move(said)), vocab(size) {}
  std::unique_ptr<TokenConstraint> start() const override {
    return std::make_unique<OneText>(inner->start(), tokens, vocab);
  }
  std::shared_ptr<const ConstraintSource> inner;
  std::vector<Token> tokens;
  int vocab;
};

class CutCallsInvariance : public CutCallsFixture, public testing::WithParamInterface<std::size_t> {
 protected:
  CutCallsInvariance() {
    script = [this](const Request& request) { return answer_of(request); };
  }

  void TearDown() override { stop(); }  // before what answers goes

  std::vector<Token> answer_of(const Request& request) {
    is_bound_ = request.constraint != nullptr;
    if (!is_bound_) return {};
    std::vector<Token> said = tokens_;
    said.push_back(kByteEos);
    Request asked = request;
    asked.max_new_tokens = static_cast<int>(said.size());
    asked.constraint = std::make_shared<OneTextSource>(request.constraint, said, config.vocab);
    std::vector<Token> truth = request.prompt.to_vector();
    truth.insert(truth.end(), said.begin(), said.end());
    const auto answers = laboratory_->run(cell_, {asked}, {truth});
    std::vector<Token> out;
    for (const SampledToken& token : answers.front().tokens) out.push_back(token.token);
    return out;
  }

  // Cuts the text into tokens of `bytes` bytes, the first one of `first` bytes.
  void say_in(std::string_view text, std::size_t first, std::size_t bytes) {
    std::vector<std::string_view> pieces{text.substr(0, first)};
    for (std::size_t at = first; at < text.size(); at += bytes)
      pieces.push_back(text.substr(at, bytes));
    say(pieces);
  }

  Cell cell_;
  std::unique_ptr<Laboratory> laboratory_;
};

TEST_P(CutCallsInvariance, no_cut_is_barred_by_any_drafter) {
  const std::size_t family = GetParam();
  const auto& [style, text] = two_calls()[family];
  config.tool_call_parser = style;
  start_for(text, kLongestToken);
  const ModelConfig model = tiny_model(config.vocab, config.context_length);
  laboratory_ = std::make_unique<Laboratory>("tile", [&](Ops& ops) {
    return std::make_unique<Decoder>(ops, model, *dummy_weights(5), DType::kBF16);
  });
  const Matrix matrix(cpu_isas());
  // Every fourth drafter, other ones for the next family.
  const auto cells = matrix.model_sweep();
  std::size_t turn = style.size();
  for (std::size_t i = family % 4; i < cells.size(); i += 4) {
    cell_ = matrix.cell(cells[i]);
    const std::size_t bytes = 1 + turn % kLongestToken;
    say_in(text, 1 + turn % bytes, bytes);
    check(tools(true), style + " in " + std::to_string(bytes) + " bytes, " + cell_.str());
    if (HasFailure()) return;
    turn += 5;
  }
  EXPECT_GT(laboratory_->occurrences().accepted, 0U);
}

INSTANTIATE_TEST_SUITE_P(Families, CutCallsInvariance,
                         testing::Range(std::size_t{0}, two_calls().size()), [](const auto& param) {
                           std::string name =
                               std::to_string(param.param) + "_" + two_calls()[param.param].style;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace foretoken
