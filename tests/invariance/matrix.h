#pragma once
// The axes along which nothing may change, and the cells between them. A cell has a number, its
// coordinates in mixed radix, so that a failure can be run again alone.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "draft/algorithm.h"

namespace foretoken {

// Who proposes: guesses that know the outputs; or a model: the target's own weights, which are
// mostly right, or random ones, which hardly ever are: a language model, or heads of every family,
// and chains of them; or an algorithm of the table that runs no model; or the target itself and all
// algorithms that read texts together, all of them or those that each request wishes.
enum class Proposer {
  kGuess,
  kItself,
  kStranger,
  kEagle,
  kFrSpec,
  kEagle3,
  kMimo,
  kNextn,
  kMimos,
  kNextns,
  kQueries,
  kAlgorithm,
  kUnion,
  kWishes
};

struct Trees {
  int nodes = 1;  // root included; 1: plain decoding
  int depth = 0;
  int topk = 0;
  double truth = 0.0;  // how often guesses are right
  Proposer proposer = Proposer::kGuess;
  bool is_erratic = false;               // trees are cut and sequences rest at random
  const Algorithm* algorithm = nullptr;  // kAlgorithm
};

// FORETOKEN_LONG_TESTS=1: all of what otherwise is sampled.
bool runs_long_tests();

// Whether a row of the table proposes in some cell. Those that run no model always do.
bool is_in_matrix(const Algorithm& algorithm);

enum class Company { kAlone, kTogether, kReversed };  // who else is in the batch

struct Cell {
  std::string isa;  // or a device, as --device takes it
  int threads;
  Company company;
  int chunk;  // -1: whole prompts
  bool cache;
  int preempt_every;  // 0: never
  bool pressure;      // hardly more pages than the longest request needs
  int ring;           // steps in flight; more than one: planned ahead
  bool is_delayed;    // the backend answers later
  Trees trees;

  std::string str() const;
};

class Matrix {
 public:
  // isas: those that this machine has, the best one last.
  explicit Matrix(std::vector<std::string> isas);

  std::uint64_t num_cells() const;
  Cell cell(std::uint64_t number) const;
  // The usual cell, and for each value of each axis the usual cell with that value; of trees by
  // models, a few shapes for each. The flights of what is varied take turns.
  std::vector<std::uint64_t> sweep() const;
  std::vector<std::uint64_t> isa_sweep() const;    // the usual cell under each ISA
  std::vector<std::uint64_t> model_sweep() const;  // and with trees of each model that drafts
  std::vector<std::uint64_t> chunk_sweep() const;  // and with each size of chunks

 private:
  static constexpr std::size_t kAxes = 9, kIsaAxis = 0, kChunkAxis = 3, kFlightAxis = 7;
  std::array<std::size_t, kAxes> usual() const;
  void add_axis(std::size_t axis, std::vector<std::uint64_t>& cells) const;
  std::uint64_t number_of(const std::array<std::size_t, kAxes>& coordinates) const;
  std::vector<std::string> isas_;
  std::array<std::size_t, kAxes> sizes_;
};

}  // namespace foretoken
