#include "invariance/matrix.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "draft/catalogue/algorithms.h"

namespace foretoken {
namespace {

constexpr std::array kThreads{1, 2, 4};
constexpr std::array kCompanies{Company::kAlone, Company::kTogether, Company::kReversed};
constexpr std::array kChunks{1, 7, 16, 64, -1};
constexpr std::array kCaches{false, true};
constexpr std::array kPreemptions{0, 3};
constexpr std::array kPressures{false, true};
struct Flight {
  int ring;
  bool is_delayed;
};
constexpr std::array kFlights{Flight{1, false}, Flight{1, true}, Flight{2, true}, Flight{3, true}};
constexpr std::array kGuesses{
    Trees{.nodes = 1, .depth = 0, .topk = 0, .truth = 0.0},
    Trees{.nodes = 2, .depth = 1, .topk = 1, .truth = 0.9},
    Trees{.nodes = 5, .depth = 4, .topk = 1, .truth = 1.0},
    Trees{.nodes = 8, .depth = 3, .topk = 4, .truth = 0.6},
    Trees{.nodes = 16, .depth = 15, .topk = 2, .truth = 0.0},
    Trees{.nodes = 64, .depth = 6, .topk = 8, .truth = 0.5},
    Trees{.nodes = 64, .depth = 63, .topk = 2, .truth = 0.95},
};
// Those that run a model, with the algorithm that does.
struct Model {
  Proposer proposer;
  std::string_view algorithm, name;
};
constexpr std::array kModels{
    Model{Proposer::kItself, "STANDALONE", "the target itself"},
    Model{Proposer::kStranger, "STANDALONE", "a random model"},
    Model{Proposer::kEagle, "EAGLE", "an EAGLE head"},
    Model{Proposer::kFrSpec, "EAGLE", "an EAGLE head with a token map"},
    Model{Proposer::kEagle3, "EAGLE3", "an EAGLE-3 head"},
    Model{Proposer::kMimo, "EAGLE", "a head like MiMo's"},
    Model{Proposer::kNextn, "EAGLE", "a NextN head"},
    Model{Proposer::kMimos, "EAGLE", "a chain of heads like MiMo's"},
    Model{Proposer::kNextns, "EAGLE", "a chain of NextN heads"},
    Model{Proposer::kQueries, "EAGLE", "a head that reads the target's keys"},
};
struct TreeSize {
  int steps, topk, nodes;
  bool is_erratic = false;
};
constexpr std::array kShapes{
    TreeSize{1, 1, 2},  TreeSize{4, 1, 5},        TreeSize{8, 1, 9},   TreeSize{1, 8, 9},
    TreeSize{2, 2, 4},  TreeSize{3, 2, 8},        TreeSize{5, 4, 16},  TreeSize{6, 3, 32},
    TreeSize{8, 8, 64}, TreeSize{5, 4, 32, true}, TreeSize{8, 10, 60}, TreeSize{12, 20, 24, true}};
constexpr std::size_t kUsualShape = 6;   // five levels, topk 4, 16 nodes
constexpr std::size_t kSweptShapes = 3;  // of each proposer, in the sweep

// All but guesses, without shapes.
const std::vector<Trees>& proposers() {
  static const std::vector<Trees> all = [] {
    std::vector<Trees> made;
    for (const Model& model : kModels) made.push_back({.proposer = model.proposer});
    for (const Algorithm* row : algorithms())
      if (row->make != nullptr && !row->runs_model())
        made.push_back({.proposer = Proposer::kAlgorithm, .algorithm = row});
    for (const Proposer joined : {Proposer::kUnion, Proposer::kWishes})
      made.push_back({.proposer = joined});
    return made;
  }();
  return all;
}

const std::vector<Trees>& all_trees() {
  static const std::vector<Trees> all = [] {
    std::vector<Trees> made(kGuesses.begin(), kGuesses.end());
    for (const Trees& proposer : proposers())
      for (const TreeSize& shape : kShapes) {
        Trees& trees = made.emplace_back(proposer);
        trees.nodes = shape.nodes;
        trees.depth = shape.steps;
        trees.topk = shape.topk;
        trees.is_erratic = shape.is_erratic;
      }
    return made;
  }();
  return all;
}

// Guesses all, of every proposer other shapes.
bool is_swept(std::size_t trees) {
  if (trees < kGuesses.size()) return true;
  const std::size_t proposer = (trees - kGuesses.size()) / kShapes.size(),
                    shape = (trees - kGuesses.size()) % kShapes.size();
  return shape % kSweptShapes == proposer % kSweptShapes;
}

const char* name_of(Company company) {
  switch (company) {
    case Company::kAlone:
      return "alone";
    case Company::kTogether:
      return "together";
    case Company::kReversed:
      return "reversed";
  }
  return "?";
}

std::string_view name_of(const Trees& trees) {
  if (trees.algorithm != nullptr) return trees.algorithm->name;
  for (const Model& model : kModels)
    if (model.proposer == trees.proposer) return model.name;
  if (trees.proposer == Proposer::kGuess) return "guesses";
  return trees.proposer == Proposer::kUnion ? "the target itself and texts"
                                            : "the target itself and texts, as wished";
}

}  // namespace

bool runs_long_tests() {
  const char* asked = std::getenv("FORETOKEN_LONG_TESTS");
  return asked != nullptr && std::string_view(asked) == "1";
}

bool is_in_matrix(const Algorithm& algorithm) {
  return !algorithm.runs_model() ||
         std::ranges::count(kModels, algorithm.name, &Model::algorithm) > 0;
}

std::string Cell::str() const {
  return fmt::format(
      "{}, {} threads, {}, chunk {}, cache {}, preempt every {}, {}, ring of {}{}, trees of {} "
      "nodes (depth {}, topk {}, truth {}{}) by {}",
      isa, threads, name_of(company), chunk, cache ? "on" : "off", preempt_every,
      pressure ? "few pages" : "many pages", ring, is_delayed ? ", delayed" : "", trees.nodes,
      trees.depth, trees.topk, trees.truth, trees.is_erratic ? ", erratic" : "", name_of(trees));
}

Matrix::Matrix(std::vector<std::string> isas)
    : isas_(std::move(isas)), sizes_{isas_.size(),      kThreads.size(), kCompanies.size(),
                                     kChunks.size(),    kCaches.size(),  kPreemptions.size(),
                                     kPressures.size(), kFlights.size(), all_trees().size()} {}

std::uint64_t Matrix::num_cells() const {
  std::uint64_t cells = 1;
  for (const std::size_t size : sizes_) cells *= size;
  return cells;
}

Cell Matrix::cell(std::uint64_t number) const {
  std::array<std::size_t, kAxes> at;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    at[axis] = number % sizes_[axis];
    number /= sizes_[axis];
  }
  return {.isa = isas_[at[0]],
          .threads = kThreads[at[1]],
          .company = kCompanies[at[2]],
          .chunk = kChunks[at[3]],
          .cache = kCaches[at[4]],
          .preempt_every = kPreemptions[at[5]],
          .pressure = kPressures[at[6]],
          .ring = kFlights[at[7]].ring,
          .is_delayed = kFlights[at[7]].is_delayed,
          .trees = all_trees()[at[8]]};
}

std::uint64_t Matrix::number_of(const std::array<std::size_t, kAxes>& coordinates) const {
  std::uint64_t number = 0;
  for (std::size_t axis = kAxes; axis-- > 0;) number = number * sizes_[axis] + coordinates[axis];
  return number;
}

std::vector<std::uint64_t> Matrix::sweep() const {
  std::vector<std::uint64_t> cells{number_of(usual())};
  for (std::size_t axis = 0; axis < kAxes; ++axis) add_axis(axis, cells);
  return cells;
}

std::vector<std::uint64_t> Matrix::isa_sweep() const {
  std::vector<std::uint64_t> cells{number_of(usual())};
  add_axis(kIsaAxis, cells);
  return cells;
}

std::vector<std::uint64_t> Matrix::chunk_sweep() const {
  std::vector<std::uint64_t> cells;
  add_axis(kChunkAxis, cells);
  return cells;
}

std::vector<std::uint64_t> Matrix::model_sweep() const {
  std::vector<std::uint64_t> cells;
  auto varied = usual();
  for (std::size_t model = 0; model < proposers().size(); ++model) {
    varied.back() = kGuesses.size() + model * kShapes.size() + kUsualShape;
    varied[kFlightAxis] = model % kFlights.size();
    cells.push_back(number_of(varied));
  }
  return cells;
}

// The best ISA, two threads, together, chunks of 64, cache on, trees of 8 nodes.
std::array<std::size_t, Matrix::kAxes> Matrix::usual() const {
  return {isas_.size() - 1, 1, 1, 3, 1, 0, 0, 0, 3};
}

// The usual cell with every other value of an axis.
void Matrix::add_axis(std::size_t axis, std::vector<std::uint64_t>& cells) const {
  const auto usual = this->usual();
  for (std::size_t value = 0; value < sizes_[axis]; ++value) {
    if (value == usual[axis] || (axis == kAxes - 1 && !is_swept(value))) continue;
    auto varied = usual;
    varied[kFlightAxis] = cells.size() % kFlights.size();
    varied[axis] = value;
    cells.push_back(number_of(varied));
  }
}

}  // namespace foretoken
