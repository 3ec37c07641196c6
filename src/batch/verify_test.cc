#include "batch/verify.h"

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "batch/testing/hash_constraint.h"

namespace foretoken {
namespace {

std::vector<Token> tokens_of(const WalkSeq& walk) {
  std::vector<Token> out;
  for (const SampledToken& s : walk.emitted) out.push_back(s.token);
  return out;
}

// A greedy walk over rows whose best token is given per node.
WalkSeq greedy_walk(const std::vector<Token>& tokens, const std::vector<std::int32_t>& parents,
                    const std::vector<Token>& best, const std::vector<Token>& stops = {}) {
  DraftTrees trees(1, static_cast<int>(tokens.size()));
  trees.plant(0, tokens[0]);
  for (std::size_t n = 1; n < tokens.size(); ++n) trees.grow(0, parents[n], tokens[n]);
  SamplingParams params;
  params.temperature = 0.0F;
  params.stop_tokens = stops;
  std::vector<float> logits;
  return walk_tree({.slot = 0, .has_tree = true, .params = &params}, trees, 5, [&](int node) {
    logits.assign(20, 0.0F);
    logits[static_cast<std::size_t>(best[static_cast<std::size_t>(node)])] = 10.0F;
    return std::span(logits);
  });
}

// Golden: SGLang's greedy verification test, links written as parents.
TEST(Walk, greedy_verification_accepts_the_known_paths) {
  const auto first = greedy_walk({0, 1, 2, 3, 4, 5}, {-1, 0, 1, 0, 3, 4}, {3, 18, 18, 4, 5, 18});
  EXPECT_EQ(first.path, (std::vector<std::int32_t>{0, 3, 4, 5}));
  EXPECT_EQ(tokens_of(first), (std::vector<Token>{3, 4, 5, 18}));
  const auto second =
      greedy_walk({7, 8, 9, 10, 11, 12}, {-1, 0, 1, 2, 0, 4}, {11, 18, 18, 18, 12, 18});
  EXPECT_EQ(second.path, (std::vector<std::int32_t>{0, 4, 5}));
  EXPECT_EQ(tokens_of(second), (std::vector<Token>{11, 12, 18}));
}

TEST(Walk, one_node_gives_one_token) {
  const auto walk = greedy_walk({7}, {-1}, {3});
  EXPECT_EQ(walk.path, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(tokens_of(walk), (std::vector<Token>{3}));
}

TEST(Walk, ends_where_the_model_gives_no_numbers) {
  DraftTrees trees(1, 3);
  trees.plant(0, 7);
  trees.grow(0, 0, 3);
  trees.grow(0, 1, 0);
  for (const float temperature : {0.0F, 1.0F}) {
    SamplingParams params;
    params.temperature = temperature;
    std::vector<float> logits;
    const auto walk =
        walk_tree({.slot = 0, .has_tree = true, .params = &params}, trees, 5, [&](int node) {
          logits.assign(20, node == 0 ? -HUGE_VALF : std::nanf(""));
          if (node == 0) logits[3] = 1.0F;
          return std::span(logits);
        });
    EXPECT_TRUE(walk.is_void);
    EXPECT_EQ(walk.path, (std::vector<std::int32_t>{0, 1}));
  }
  EXPECT_FALSE(greedy_walk({7}, {-1}, {3}).is_void);
}

TEST(Walk, likely_nodes_are_drawn_ahead_from_where_it_stands) {
  DraftTrees trees(1, 6);
  trees.plant(0, 7);
  trees.grow(0, 0, 10, 0.3F);  // 1
  trees.grow(0, 0, 11, 0.6F);  // 2
  trees.grow(0, 1, 12, 0.2F);  // 3
  trees.grow(0, 2, 13, 0.5F);  // 4
  trees.grow(0, 4, 14, 0.4F);  // 5
  SamplingParams params;
  params.stop_tokens = {14};
  const StepEntry entry{.slot = 0, .has_tree = true, .params = &params};
  using Nodes = std::vector<int>;
  DrawnNodes drawn(6);
  const auto draw = [&](std::size_t node, Token token) { drawn[node].emplace().token = token; };
  EXPECT_EQ(nodes_ahead(entry, trees, drawn, 1), Nodes{0});
  EXPECT_EQ(nodes_ahead(entry, trees, drawn, 4), (Nodes{0, 2, 4, 5}));
  EXPECT_EQ(nodes_ahead(entry, trees, {}, 3), (Nodes{0, 2, 4}));
  draw(0, 10);
  draw(2, 10);
  EXPECT_EQ(nodes_ahead(entry, trees, drawn, 4), (Nodes{1, 3}));  // what lies beside is given up
  draw(0, 11);
  draw(2, 13);
  draw(5, 1);
  EXPECT_EQ(nodes_ahead(entry, trees, drawn, 4), Nodes{4});
  draw(4, 99);
  EXPECT_EQ(nodes_ahead(entry, trees, drawn, 4), Nodes{});
  draw(2, 14);
  drawn[4].reset();
  EXPECT_EQ(nodes_ahead(entry, trees, drawn, 4), Nodes{});  // the text ends there
}

TEST(Walk, nothing_follows_a_stop_token) {
  const auto walk = greedy_walk({0, 1, 2}, {-1, 0, 1}, {1, 2, 3}, {1});
  EXPECT_EQ(walk.path, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(tokens_of(walk), (std::vector<Token>{1}));
  const auto other = greedy_walk({0, 1, 2}, {-1, 0, 1}, {1, 2, 3}, {9, 1});  // one of several
  EXPECT_EQ(tokens_of(other), (std::vector<Token>{1}));
}

// The noise of a token is that of the position where the token will stand.
TEST(Walk, tokens_are_drawn_with_the_noise_of_their_own_positions) {
  constexpr std::int64_t kRoot = 41;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SamplingParams params;
    params.seed = seed;
    DraftTrees trees(1, 1);
    trees.plant(0, 3);
    std::vector<float> logits(50, 0.0F);
    const auto walk = walk_tree({.slot = 0, .has_tree = true, .params = &params}, trees, kRoot,
                                [&](int) { return std::span(logits); });
    std::vector<float> same(50, 0.0F);
    const SampledToken drawn = sample_row(same, {.params = &params, .position = kRoot + 1});
    EXPECT_EQ(tokens_of(walk), std::vector<Token>{drawn.token});
  }
}

// A toy language model: logits are a function of the last two tokens.
constexpr int kVocab = 5;
std::vector<float> toy_logits(Token before, Token last) {
  std::vector<float> x(kVocab);
  for (int i = 0; i < kVocab; ++i)
    x[static_cast<std::size_t>(i)] = 0.7F * gumbel_noise(99, before * kVocab + last, i);
  return x;
}

// Generates `length` tokens after (0, 1), each step verifying a random tree of up to `nodes` nodes.
std::vector<Token> generate(const SamplingParams& params, int length, int nodes,
                            std::uint64_t tree_seed,
                            std::unique_ptr<TokenConstraint> constraint = nullptr) {
  std::vector<Token> text{0, 1};
  TokenCounts counts;
  for (const Token token : text) counts.add_prompt(token);
  DraftTrees trees(1, nodes);
  for (std::uint64_t step = 0; static_cast<int>(text.size()) < length + 2; ++step) {
    trees.plant(0, text.back());
    for (int n = 1; n < nodes; ++n) {
      const std::uint64_t dice = mix_seed(tree_seed, step * 64 + static_cast<std::uint64_t>(n));
      const auto size = static_cast<std::uint64_t>(trees.size(0));
      trees.grow(0, static_cast<int>(dice % size), static_cast<Token>((dice >> 20U) % kVocab));
    }
    const StepEntry entry{.slot = 0,
                          .has_tree = true,
                          .params = &params,
                          .counts = &counts,
                          .constraint = constraint.get(),
                          .generated = static_cast<int>(text.size()) - 2};
    std::vector<float> logits;
    const auto root_position = static_cast<std::int64_t>(text.size()) - 1;
    const auto walk = walk_tree(entry, trees, root_position, [&](int node) {
      const int parent = trees.parents(0)[static_cast<std::size_t>(node)];
      const Token before =
          parent < 0 ? text[text.size() - 2] : trees.tokens(0)[static_cast<std::size_t>(parent)];
      logits = toy_logits(before, trees.tokens(0)[static_cast<std::size_t>(node)]);
      return std::span(logits);
    });
    EXPECT_EQ(walk.path.size(), walk.emitted.size());
    for (const SampledToken& s : walk.emitted) {
      if (walk.is_stuck && &s == &walk.emitted.back()) {
        text.push_back(kNoToken);
        return text;
      }
      text.push_back(s.token);
      counts.add_output(s.token);
      const bool stops = !params.stop_tokens.empty() && s.token == params.stop_tokens[0];
      if (stops || static_cast<int>(text.size()) == length + 2) return text;
    }
    if (walk.is_complete) return text;
  }
  return text;
}

TEST(Walk, trees_change_nothing_in_the_text) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SamplingParams params;
    params.seed = seed;
    params.temperature = seed % 5 == 0 ? 0.0F : 1.0F;
    params.top_logprobs = -1;
    if (seed % 3 == 0) {
      params.frequency_penalty = 0.4F;
      params.repetition_penalty = 1.2F;
      params.top_k = 4;
      params.min_new_tokens = 7;
      params.stop_tokens = {2};
    }
    const auto plain = generate(params, 12, 1, 0);
    for (const int nodes : {2, 5, 16})
      for (std::uint64_t tree = 1; tree < 4; ++tree)
        ASSERT_EQ(generate(params, 12, nodes, tree), plain) << "seed " << seed;
  }
}

// Ends, faults and stops of the constraint included.
TEST(Walk, trees_change_nothing_in_constrained_text) {
  int shorter = 0, stuck = 0;
  for (std::uint64_t seed = 1; seed < 300; ++seed) {
    SamplingParams params;
    params.seed = seed;
    params.temperature = seed % 2 == 0 ? 0.0F : 1.0F;
    params.top_p = seed % 3 == 0 ? 0.8F : 1.0F;
    params.min_new_tokens = seed % 5 == 0 ? 4 : 0;
    params.top_logprobs = -1;
    if (seed % 4 == 0) params.stop_tokens = {2};
    const HashConstraintSource source({.seed = seed,
                                       .vocab = kVocab,
                                       .ends_of_64 = 4,
                                       .faults_of_64 = seed % 7 == 0 ? 4 : 0,
                                       .stops = params.stop_tokens});
    const auto plain = generate(params, 12, 1, 0, source.start());
    shorter += plain.size() < 14 ? 1 : 0;
    stuck += plain.back() == kNoToken ? 1 : 0;
    const auto constraint = source.start();
    for (std::size_t i = 2; i < plain.size() && plain[i] != kNoToken; ++i) {
      ASSERT_TRUE(constraint->allows(plain[i])) << "seed " << seed << " token " << i;
      constraint->advance(plain[i]);
    }
    for (const int nodes : {2, 5, 16})
      for (std::uint64_t tree = 1; tree < 4; ++tree)
        ASSERT_EQ(generate(params, 12, nodes, tree, source.start()), plain) << "seed " << seed;
  }
  EXPECT_GT(shorter, 50);
  EXPECT_GT(stuck, 5);
}

TEST(Walk, masks_are_made_for_visited_nodes_only) {
  int masks = 0;
  HashConstraint constraint({.vocab = 20, .allowed_of_8 = 8, .ends_of_64 = 0, .masks = &masks});
  DraftTrees trees(1, 6);
  trees.plant(0, 0);
  const int right = trees.grow(0, 0, 3);
  for (const Token token : {4, 5, 6}) trees.grow(0, 0, token);
  trees.grow(0, right, 9);
  SamplingParams params;
  params.temperature = 0.0F;
  std::vector<float> logits;
  const StepEntry entry{.slot = 0, .has_tree = true, .params = &params, .constraint = &constraint};
  const auto walk = walk_tree(entry, trees, 5, [&](int node) {
    logits.assign(20, 0.0F);
    logits[node == 0 ? 3 : 7] = 1.0F;
    return std::span(logits);
  });
  EXPECT_EQ(tokens_of(walk), (std::vector<Token>{3, 7}));
  EXPECT_EQ(masks, 2);
}

// With filters and logprobs a mask is always made; without, only where the first choice is barred.
TEST(Walk, masks_are_made_where_they_matter) {
  int masks = 0, all = 0;
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    SamplingParams params, reporting;
    params.seed = reporting.seed = seed;
    params.temperature = reporting.temperature = seed % 2 == 0 ? 0.0F : 1.0F;
    params.top_logprobs = -1;
    HashConstraint::Rules rules{.seed = seed, .vocab = kVocab, .allowed_of_8 = 5, .ends_of_64 = 1};
    rules.masks = &masks;
    const auto text = generate(params, 12, 5, seed, std::make_unique<HashConstraint>(rules));
    rules.masks = &all;
    EXPECT_EQ(generate(reporting, 12, 5, seed, std::make_unique<HashConstraint>(rules)), text);
  }
  EXPECT_GT(masks, 100);
  EXPECT_LT(masks, all * 3 / 4);
}

TEST(Walk, text_of_trees_has_the_law_of_the_model) {
  // Exact law of the next three tokens by enumeration.
  std::map<std::vector<Token>, double> law;
  const auto softmax = [](Token before, Token last) {
    std::vector<double> p;
    double sum = 0.0;
    for (const float x : toy_logits(before, last)) sum += p.emplace_back(std::exp(x));
    for (double& v : p) v /= sum;
    return p;
  };
  for (Token a = 0; a < kVocab; ++a)
    for (Token b = 0; b < kVocab; ++b)
      for (Token c = 0; c < kVocab; ++c)
        law[{0, 1, a, b, c}] = softmax(0, 1)[static_cast<std::size_t>(a)] *
                               softmax(1, a)[static_cast<std::size_t>(b)] *
                               softmax(a, b)[static_cast<std::size_t>(c)];
  std::map<std::vector<Token>, int> seen;
  constexpr int kDraws = 100000;
  SamplingParams params;
  params.top_logprobs = -1;
  for (int i = 0; i < kDraws; ++i) {
    params.seed = mix_seed(1, static_cast<std::uint64_t>(i));
    ++seen[generate(params, 3, 6, params.seed)];
  }
  double chi = 0.0;
  for (const auto& [text, p] : law) chi += std::pow(seen[text] - kDraws * p, 2) / (kDraws * p);
  EXPECT_LT(chi, 124 + 3.72 * std::sqrt(2.0 * 124) + 10);  // 124 degrees of freedom, p = 1e-4
}

}  // namespace
}  // namespace foretoken
