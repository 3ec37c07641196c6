// The pace of drafting in made-up worlds: a machine with scripted costs, a draft model with
// scripted probabilities, loads and luck that change. What a served token takes is compared with
// the best of what never changes its mind: plain decoding, and whole trees. Time is made up, too.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/index.h"
#include "base/rng.h"
#include "batch/testing/sequence_rows.h"
#include "draft/level_grower.h"
#include "draft/pace/measured_pace.h"

namespace foretoken {
namespace {

// Milliseconds, whatever they stand for.
struct Costs {
  double step = 10, row = 0.2;               // of the target, and of each of its rows
  double forward = 0.5, forward_row = 0.05;  // of a level of the draft model
  double reading = 0.4, reading_row = 0.03;  // of what it reads
  double roots = 0.2, roots_row = 0.02;      // of its logits of what it has read
  int tile = 1;                              // rows are computed in so many
};

// How the draft model guesses: the first of its candidates has this probability, in a share of the
// places; elsewhere it knows nothing. What it says it has is `boast` times as much.
struct Luck {
  double share = 0.6, sure = 0.9, lost = 0.15, boast = 1;
};

struct Phase {
  int steps, sequences;
  Luck luck;
};

struct World {
  std::string name;
  Costs costs;
  TreeShape shape;
  std::vector<Phase> phases;
  double noise = 0;   // of every duration, as a share
  double hiccup = 0;  // how often something takes three times as long
  int answer = 128;   // tokens of a sequence
};

class PlainPace final : public StepPace {
 public:
  bool rests(SeqSlot) const override { return true; }
};

class Simulation {
 public:
  explicit Simulation(const World& world) : world_(world) {}

  double now() const { return now_; }

  // Milliseconds per token in each phase.
  std::vector<double> run(StepPace& pace) {
    std::vector<double> result;
    for (const Phase& phase : world_.phases) {
      sequences_.resize(at(phase.sequences));
      double begin = now_;
      tokens_ = 0;
      // As many tokens for every pace.
      const double wanted = static_cast<double>(phase.steps) * phase.sequences;
      while (tokens_ < wanted) step(pace, phase);
      result.push_back((now_ - begin) / tokens_);
    }
    return result;
  }

 private:
  struct Sequence {
    std::uint64_t id = 0;  // of its text
    int position = 0, left = 0;
    std::vector<int> parent{-1};  // of the tree that is to be verified
    std::vector<bool> is_true{true};
  };

  double uniform(std::uint64_t a, std::uint64_t b) const {
    return (static_cast<double>(mix_seed(mix_seed(7, a), b) >> 40) + 0.5) * 0x1p-24;
  }

  void spend(double ms) {
    const double a = uniform(1, ++draws_), b = uniform(2, draws_);
    const double normal = std::sqrt(-2 * std::log(a)) * std::cos(6.283185307 * b);
    now_ += ms * std::max(0.5, 1 + world_.noise * normal) *
            (uniform(3, draws_) < world_.hiccup ? 3 : 1);
  }

  struct Growing {  // a tree
    std::size_t sequence;
    std::vector<bool> is_true;  // by candidate
  };
  // The draft model of this world.
  struct Guesses final : LevelSource {
    Guesses(Simulation& simulation, const Luck& how) : world(simulation), luck(how) {}

    void compute(int level, int rows) override {
      const Costs& c = world.world_.costs;
      world.spend(level == 0 ? c.roots + c.roots_row * rows : c.forward + c.forward_row * rows);
    }
    void list(std::size_t tree, std::vector<Token>& tokens,
              std::vector<float>& probabilities) override {
      const TreeGrowth& growth = world.grower_.tree(tree);
      Growing& g = growing[tree];
      const Sequence& s = world.sequences_[g.sequence];
      const int depth = growth.levels();
      const auto add_children = [&](bool parent_is_true) {
        for (int rank = 0; rank < world.world_.shape.topk; ++rank) {
          tokens.push_back(rank);
          g.is_true.push_back(parent_is_true && world.truth(luck, s, depth) == rank);
          const double p = world.chance(luck, s, depth, rank) * luck.boast;
          probabilities.push_back(static_cast<float>(std::min(p, 0.99)));
        }
      };
      if (depth == 0) add_children(true);
      for (const int parent : growth.followed()) add_children(g.is_true[at(parent)]);
    }

    std::vector<Growing> growing;

   private:
    Simulation& world;
    const Luck luck;
  };

  // Which of the candidates below a place of the text comes true; -1: none.
  int truth(const Luck& luck, const Sequence& s, int depth) const {
    const auto place = static_cast<std::uint64_t>(s.position + depth);
    const double u = uniform(s.id * 2 + 1, place);
    double sum = 0;
    for (int i = 0; i < world_.shape.topk; ++i)
      if ((sum += chance(luck, s, depth, i)) > u) return i;
    return -1;
  }
  double chance(const Luck& luck, const Sequence& s, int depth, int rank) const {
    const auto place = static_cast<std::uint64_t>(s.position + depth);
    const double first = uniform(s.id * 2, place) < luck.share ? luck.sure : luck.lost;
    return rank == 0 ? first : (1 - first) * std::pow(0.5, rank) * first;
  }

  void step(StepPace& pace, const Phase& phase) {
    verify(pace);
    propose(pace, phase);
  }

  void verify(StepPace& pace) {
    StepPlan plan;
    Batch batch;
    Walk walk;
    const std::vector<Token> prompt{1, 2};
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      Sequence& s = sequences_[i];
      const auto slot = static_cast<SeqSlot>(i);
      const bool is_new = s.left <= 0;
      if (is_new) {
        s = {.id = ++opened_, .position = 0, .left = world_.answer};
        pace.open(slot);
      }
      const int nodes = static_cast<int>(s.parent.size());
      plan.entries.push_back({.slot = slot,
                              .chain = is_new ? std::span(prompt) : std::span<const Token>{},
                              .has_tree = true,
                              .generated = world_.answer - s.left});
      BatchSeq& rows = batch.seqs.emplace_back(sequence_rows(nodes));
      rows.slot = slot;
      rows.first_row = batch.rows;
      batch.rows += nodes;
      walk.seqs.push_back({.slot = slot, .path = {0}, .emitted = {}, .foreseen = {}, .scored = {}});
      auto& path = walk.seqs.back().path;
      for (int node = 1; node < nodes; ++node)
        if (s.is_true[at(node)] && s.parent[at(node)] == path.back()) path.push_back(node);
      walk.seqs.back().emitted.resize(path.size());
    }
    const Costs& c = world_.costs;
    spend(c.step + c.row * ((batch.rows + c.tile - 1) / c.tile * c.tile));
    SeqTable table(1);
    const Features features;
    pace.observe(
        {.plan = plan, .table = table, .batch = batch, .walk = walk, .features = features});
    int read = 0;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      Sequence& s = sequences_[i];
      const int committed = static_cast<int>(walk.seqs[i].path.size());
      s.position += committed;
      s.left -= committed;
      tokens_ += committed;
      if (!pace.rests(static_cast<SeqSlot>(i))) read += committed;
    }
    pace.begin_forward(DraftWork::kReading);
    if (read > 0) {
      spend(c.reading + c.reading_row * read);
      pace.end_forward(read);
    }
  }

  void propose(StepPace& pace, const Phase& phase) {
    grower_.clear();
    Guesses guesses(*this, phase.luck);
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      sequences_[i].parent.assign(1, -1);
      sequences_[i].is_true.assign(1, true);
      if (pace.rests(static_cast<SeqSlot>(i)) || sequences_[i].left <= 1) continue;
      guesses.growing.push_back({.sequence = i, .is_true = {}});
      grower_.add(world_.shape, {}, pace.least_score());
    }
    grower_.grow(guesses, pace);
    for (std::size_t i = 0; i < grower_.size(); ++i) {
      const Growing& g = guesses.growing[i];
      TreeGrowth& growth = grower_.tree(i);
      Sequence& s = sequences_[g.sequence];
      std::vector<int> node(g.is_true.size(), -1);
      double promised = 0;
      for (const int candidate : growth.chosen()) {
        const int parent = growth.parent(candidate);
        node[at(candidate)] = static_cast<int>(s.parent.size());
        s.parent.push_back(parent < 0 ? 0 : node[at(parent)]);
        s.is_true.push_back(g.is_true[at(candidate)]);
        promised += static_cast<double>(growth.score(candidate));
      }
      if (s.parent.size() > 1) pace.plant(static_cast<SeqSlot>(g.sequence), promised);
    }
    pace.end_growth();
  }

  const World& world_;
  std::vector<Sequence> sequences_;
  LevelGrower grower_;
  double now_ = 1, tokens_ = 0;
  std::uint64_t opened_ = 0, draws_ = 0;
};

struct Outcome {
  double plain = 0, whole = 0, sized = 0;
  double regret() const { return sized / std::min(plain, whole) - 1; }
};

// By phase.
std::vector<Outcome> outcomes(const World& world) {
  PlainPace plain;
  StepPace whole;
  const auto plainly = Simulation(world).run(plain), wholly = Simulation(world).run(whole);
  Simulation simulation(world);
  MeasuredPace pace([&] { return simulation.now() / 1000; });
  const auto sized = simulation.run(pace);
  std::vector<Outcome> result;
  for (std::size_t i = 0; i < sized.size(); ++i)
    result.push_back({plainly[i], wholly[i], sized[i]});
  return result;
}

// The greatest regret of its phases.
double expect_little_regret(const World& world, double most) {
  const auto found = outcomes(world);
  double greatest = -1;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Outcome& o = found[i];
    const std::string line = fmt::format(
        "{:28} phase {}: {:3} at once, plain {:7.3f} whole {:7.3f} sized {:7.3f} ms, regret "
        "{:+.3f}",
        world.name, i, world.phases[i].sequences, o.plain, o.whole, o.sized, o.regret());
    fmt::print("{}\n", line);
    EXPECT_LE(o.regret(), most) << line;
    greatest = std::max(greatest, o.regret());
  }
  return greatest;
}

// Of all phases together, against the better of the two throughout.
void expect_little_regret_in_all(const World& world, double most) {
  Outcome all;
  const auto found = outcomes(world);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double tokens = world.phases[i].steps * world.phases[i].sequences;
    all.plain += tokens * found[i].plain;
    all.whole += tokens * found[i].whole;
    all.sized += tokens * found[i].sized;
  }
  const std::string line =
      fmt::format("{:28} plain {:.0f} whole {:.0f} sized {:.0f} ms, regret {:+.3f}", world.name,
                  all.plain, all.whole, all.sized, all.regret());
  fmt::print("{}\n", line);
  EXPECT_LE(all.regret(), most) << line;
}

constexpr Luck kNone{.share = 0, .lost = 0.02};
constexpr Luck kPoor{.share = 0.15, .sure = 0.8, .lost = 0.1};
constexpr Luck kFair{.share = 0.55, .sure = 0.9, .lost = 0.2};
constexpr Luck kGood{.share = 0.9, .sure = 0.95, .lost = 0.3};
constexpr TreeShape kChain{.steps = 3, .topk = 1, .nodes = 4};
constexpr TreeShape kTree{.steps = 5, .topk = 4, .nodes = 16};

std::string name_of(double share) {
  return share == 0 ? "none" : share < 0.3 ? "poor" : share < 0.7 ? "fair" : "good";
}

// demo: few layers, dear rows. large: cheap rows. dear: a draft model nearly half as slow as the
// target.
Costs demo() {
  return {.step = 4,
          .row = 0.9,
          .forward = 1.0,
          .forward_row = 0.25,
          .reading = 0.6,
          .reading_row = 0.25,
          .roots = 0.4,
          .roots_row = 0.1};
}
Costs large() {
  return {.step = 100,
          .row = 2,
          .forward = 6,
          .forward_row = 0.3,
          .reading = 4,
          .reading_row = 0.3,
          .roots = 3,
          .roots_row = 0.1};
}
Costs dear() {
  return {.step = 10,
          .row = 0.5,
          .forward = 4,
          .forward_row = 0.2,
          .reading = 3,
          .reading_row = 0.2,
          .roots = 1,
          .roots_row = 0.05};
}

TEST(PaceSimulation, steady_worlds) {
  for (const auto& [name, costs] :
       {std::pair{"demo", demo()}, {"large", large()}, {"dear", dear()}})
    for (const TreeShape& shape : {kChain, kTree})
      for (const Luck& luck : {kNone, kPoor, kFair, kGood})
        for (const int sequences : {1, 4, 32})
          expect_little_regret(
              {.name = fmt::format("{} {} {}", name, shape.topk > 1 ? "tree" : "chain",
                                   name_of(luck.share)),
               .costs = costs,
               .shape = shape,
               .phases = {{.steps = 2000, .sequences = sequences, .luck = luck}},
               .noise = 0.15,
               .hiccup = 0.015},
              0.03);
}

// Few steps of each load, all of them for the first time.
TEST(PaceSimulation, a_load_that_grows) {
  for (const auto& [name, costs] :
       {std::pair{"demo", demo()}, {"large", large()}, {"dear", dear()}})
    for (const Luck& luck : {kNone, kPoor}) {
      World world{.name = fmt::format("{} grows {}", name, name_of(luck.share)),
                  .costs = costs,
                  .shape = kTree,
                  .phases = {},
                  .noise = 0.15,
                  .hiccup = 0.015};
      for (int sequences = 1; sequences <= 64; sequences *= 2)
        world.phases.push_back({.steps = 100, .sequences = sequences, .luck = luck});
      expect_little_regret_in_all(world, 0.02);
    }
}

// Many sequences from the first step on, and few steps of them: what it costs to learn that drafts
// do not pay, or that they do.
TEST(PaceSimulation, a_load_that_comes_at_once) {
  double sum = 0;
  int worlds = 0;
  for (const auto& [name, costs] :
       {std::pair{"demo", demo()}, {"large", large()}, {"dear", dear()}})
    for (const TreeShape& shape : {kChain, kTree})
      for (const Luck& luck : {kNone, kPoor, kFair, kGood})
        for (const int sequences : {16, 64, 256}) {
          sum += expect_little_regret(
              {.name = fmt::format("{} {} {}", name, shape.topk > 1 ? "tree" : "chain",
                                   name_of(luck.share)),
               .costs = costs,
               .shape = shape,
               .phases = {{.steps = 100, .sequences = sequences, .luck = luck}},
               .noise = 0.15,
               .hiccup = 0.015,
               .answer = 40},
              0.15);
          ++worlds;
        }
  fmt::print("mean regret {:+.3f}\n", sum / worlds);
  EXPECT_LE(sum / worlds, 0.04);
}

// A large model on a machine without matrix units: drafts are good, and each row costs half of what
// a token does. Answers are short, so many of the few steps have prompts.
TEST(PaceSimulation, short_answers_beside_dear_rows) {
  const Costs costs{.step = 80,
                    .row = 13,
                    .forward = 10,
                    .forward_row = 1,
                    .reading = 8,
                    .reading_row = 1,
                    .roots = 5,
                    .roots_row = 0.5};
  for (const TreeShape& shape : {kChain, kTree})
    for (const int sequences : {4, 16, 64})
      expect_little_regret_in_all({.name = fmt::format("short {} {}", shape.topk, sequences),
                                   .costs = costs,
                                   .shape = shape,
                                   .phases = std::vector<Phase>(4, {50, sequences, kGood}),
                                   .noise = 0.1,
                                   .hiccup = 0.01,
                                   .answer = 48},
                                  0.08);
}

TEST(PaceSimulation, loads_and_luck_that_change) {
  for (const double noise : {0.0, 0.15})
    for (const auto& [name, costs] : {std::pair{"demo", demo()}, {"large", large()}}) {
      std::vector<Phase> loads, luck;
      for (const int sequences : {1, 32, 4, 16, 1}) loads.push_back({1500, sequences, kFair});
      for (const Luck& now : {kGood, kPoor, kGood, kPoor, kFair}) luck.push_back({1500, 4, now});
      expect_little_regret({.name = fmt::format("{} loads noise {}", name, noise),
                            .costs = costs,
                            .shape = kTree,
                            .phases = loads,
                            .noise = noise,
                            .hiccup = noise / 10},
                           0.05);
      expect_little_regret({.name = fmt::format("{} luck noise {}", name, noise),
                            .costs = costs,
                            .shape = kChain,
                            .phases = luck,
                            .noise = noise,
                            .hiccup = noise / 10},
                           0.05);
    }
}

}  // namespace
}  // namespace foretoken
