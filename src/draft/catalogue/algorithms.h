#pragma once
// The table of algorithms, and what is said and read of all of them together. Callers
// that need the list of algorithms ask here. Pure functions of the table. The table is complete
// before main() and never changes from then on.

#include <string>
#include <string_view>
#include <vector>

#include "draft/algorithm.h"

namespace foretoken {

using Algorithms = std::vector<const Algorithm*>;

// In the order in which help and errors name them.
const Algorithms& algorithms();

// By its name in capitals, an alias as itself; null: there is none.
const Algorithm* find_algorithm(std::string_view name);

// Those that can be asked for and run no model.
Algorithms text_algorithms();
// The one of them whose drafts show best what steps cost, where any will do.
const Algorithm& usual_text_algorithm();

// "NGRAM or SUFFIX": the names of these.
std::string names_of(const Algorithms& some);

// The help of --speculative-algorithm.
std::string_view algorithm_help();
// The flags of all algorithms, in the table's order.
std::vector<Flag> algorithm_flags();
// What the flags ask each algorithm for, whether it drafts or not. Throws UsageError.
OwnOptions read_algorithm_flags(const FlagValues& values);
// One line for each flag of an algorithm that does nothing, or less than it says.
std::vector<std::string> algorithm_warnings(const FlagValues& values, const DraftOptions& options);

// Adds a row to the table: for programs that bring a drafter of their own, and for tests. As a
// variable at namespace scope, or FORETOKEN_ADD_ALGORITHM(kTheRow).
struct AddedAlgorithm {
  explicit AddedAlgorithm(const Algorithm& row);
};

}  // namespace foretoken

#define FORETOKEN_ADD_ALGORITHM(row)                \
  namespace foretoken {                             \
  extern const Algorithm row;                       \
  static const AddedAlgorithm k##row##IsAdded(row); \
  }
