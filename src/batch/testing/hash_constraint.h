#pragma once
// HashConstraint: a constraint for tests: what may follow, where the text may end and where it must
// is drawn from a hash of the tokens so far. Counts how often it was asked for a whole mask.

#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "batch/token_constraint.h"

namespace foretoken {

class HashConstraint final : public TokenConstraint {
 public:
  struct Rules {
    std::uint64_t seed = 1;
    int vocab = 0;
    int allowed_of_8 = 3;  // tokens out of eight that may come next
    int ends_of_64 = 1;    // places out of 64 at which the text must end
    int faults_of_64 = 0;  // places out of 64 at which nothing can be said
    std::vector<Token> stops = {};
    int* masks = nullptr;  // counts them
  };

  explicit HashConstraint(Rules rules) : rules_(std::move(rules)), state_(rules_.seed) {}

  std::span<const std::uint32_t> allowed() override {
    if (rules_.masks != nullptr) ++*rules_.masks;
    mask_.assign(static_cast<std::size_t>(rules_.vocab + 31) / 32, 0);
    for (Token token = 0; token < rules_.vocab; ++token)
      if (allows(token)) mask_[static_cast<std::size_t>(token) / 32] |= 1U << (token % 32);
    return mask_;
  }
  bool allows(Token token) override {
    if (is_place(2, rules_.faults_of_64)) fault_ = "nothing can be said here";
    for (const Token stop : rules_.stops)
      if (token == stop) return is_place(3, 16);
    const auto drawn = mix_seed(state_, 100 + static_cast<std::uint64_t>(token)) % 8;
    return drawn < static_cast<std::uint64_t>(rules_.allowed_of_8) || token == least_allowed();
  }
  void advance(Token token) override {
    state_ = mix_seed(state_, 10 + static_cast<std::uint64_t>(token));
  }
  bool has_ended() const override { return is_place(1, rules_.ends_of_64); }
  const std::string& fault() const override { return fault_; }
  int count_allowed(std::span<const Token> tokens) override {
    HashConstraint at = *this;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if ((i > 0 && at.has_ended()) || !at.allows(tokens[i])) return static_cast<int>(i);
      at.advance(tokens[i]);
    }
    return static_cast<int>(tokens.size());
  }
  // Right in the first, at most.
  std::vector<Token> foreseen() override { return {least_allowed(), 1, 2}; }

 private:
  bool is_place(std::uint64_t salt, int of_64) const {
    return state_ != rules_.seed && mix_seed(state_, salt) % 64 < static_cast<std::uint64_t>(of_64);
  }
  // So that no place is without any; no stop token.
  Token least_allowed() const {
    return static_cast<Token>(mix_seed(state_, 4) % static_cast<std::uint64_t>(rules_.vocab / 2));
  }

  Rules rules_;
  std::uint64_t state_;
  std::vector<std::uint32_t> mask_;
  std::string fault_;
};

class HashConstraintSource final : public ConstraintSource {
 public:
  explicit HashConstraintSource(HashConstraint::Rules rules) : rules_(std::move(rules)) {}
  std::unique_ptr<TokenConstraint> start() const override {
    return std::make_unique<HashConstraint>(rules_);
  }

 private:
  HashConstraint::Rules rules_;
};

}  // namespace foretoken
