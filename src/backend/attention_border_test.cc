// Attention where spans and windows begin and end, against the reference: a row must see its own
// span when it is the first in it, and of rows that are computed together each keeps the window of
// its own position.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/attention_test_kit.h"

namespace foretoken {
namespace {

constexpr int kMany = 40;
constexpr std::array kWindows{0, 20, 600};

Model model_of(DType kv) {
  return {.shape = {.heads = 8, .kv_heads = 4, .head_dim = 8, .scale = 0.35F},
          .kv = kv,
          .rotary_dim = 8};
}

// Rows of a step that begins at some length of the text.
struct Look {
  int base;
  int rows;
  bool is_tree;  // bushy, the root at `base`
};

// One row, many that begin there and many that end there, as a chain and as a tree; in the order of
// their positions.
std::vector<Look> looks() {
  std::vector<Look> all;
  for (const int position : {511, 512, 513, 1024}) {
    all.push_back({position - kMany + 1, kMany, false});
    for (const bool is_tree : {false, true}) {
      all.push_back({position, 1, is_tree});
      all.push_back({position, kMany, is_tree});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Look& a, const Look& b) { return a.base < b.base; });
  return all;
}

Part part_of(const Look& look) {
  const std::vector<Token> text = World::text(0, look.base, look.rows);
  if (!look.is_tree) return {.slot = 0, .chain = text};
  Part part{.slot = 0, .nodes = text};
  for (std::int32_t n = 0; n < look.rows; ++n) part.parents.push_back(n == 0 ? -1 : (n - 1) / 2);
  return part;
}

struct Sight {
  std::string what;
  Rows rows;
};

// All looks through all windows, one after the other in one text.
std::vector<Sight> look_around(const Machine& machine, const Model& model) {
  World world(*machine.ops, model, 70);
  std::vector<Sight> found;
  int length = 0;
  for (const Look& look : looks()) {
    world.read(0, look.base - length);
    length = look.base;
    for (const int window : kWindows) {
      world.look_through(window);
      found.push_back({std::to_string(look.rows) + (look.is_tree ? " nodes" : " rows") + " from " +
                           std::to_string(look.base) + ", window " + std::to_string(window),
                       world.step({part_of(look)})});
    }
  }
  return found;
}

class AttentionBorders : public testing::TestWithParam<DType> {};

// With one thread spans stay together, with four they are divided.
TEST_P(AttentionBorders, agree_with_the_reference_for_every_window) {
  const Model model = model_of(GetParam());
  const auto expected = look_around(machine("reference", 1), model);
  for (const std::string& isa : cpu_isas())
    for (const int threads : {1, 4}) {
      const auto found = look_around(machine(isa, threads), model);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expect_near(found[i].rows, expected[i].rows, 2 * tolerance(model),
                    isa + "/" + std::to_string(threads) + ", " + found[i].what);
    }
}

// Rows in front of the first slot that holds anything, around it, and a span away; chains and
// trees.
TEST_P(AttentionBorders, agree_with_the_reference_where_the_first_slots_hold_nothing) {
  const Model model = model_of(GetParam());
  constexpr int kLooks[] = {0, 1, 2, 5, 17, 512};
  const auto look_from = [&](const Machine& machine, std::int32_t first_slot) {
    std::vector<Sight> found;
    for (const int base : kLooks)
      for (const bool is_tree : {false, true}) {
        World world(*machine.ops, model, 70);
        world.read(0, base);
        world.begin_at(first_slot);
        found.push_back({(is_tree ? "nodes from " : "rows from ") + std::to_string(base) +
                             ", first slot " + std::to_string(first_slot),
                         world.step({part_of({base, kMany, is_tree})})});
      }
    return found;
  };
  for (const std::int32_t first_slot : {1, 3, 7}) {
    const auto expected = look_from(machine("reference", 1), first_slot);
    const auto of_all = look_from(machine("reference", 1), 0);
    EXPECT_NE(expected.back().rows, of_all.back().rows);
    // A row sees itself at least, so the first of a text is what it would be.
    EXPECT_EQ(expected.front().rows.front(), of_all.front().rows.front());
    for (const std::string& isa : cpu_isas())
      for (const int threads : {1, 4}) {
        const auto found = look_from(machine(isa, threads), first_slot);
        for (std::size_t i = 0; i < expected.size(); ++i)
          expect_near(found[i].rows, expected[i].rows, 2 * tolerance(model),
                      isa + "/" + std::to_string(threads) + ", " + found[i].what);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Kv, AttentionBorders,
                         testing::Values(DType::kBF16, DType::kF16, DType::kF32),
                         [](const auto& param) { return std::string(dtype_name(param.param)); });

}  // namespace
}  // namespace foretoken
