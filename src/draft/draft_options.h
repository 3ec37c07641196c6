#pragma once
// What is drafted with, as asked for on the command line. Plain data that stays as it was read; what
// follows from it is in a DraftSetup.

#include <optional>
#include <string>
#include <string_view>

#include "draft/coupling.h"
#include "draft/own_options.h"
#include "draft/tree_growth.h"
#include "model/decoder/load.h"

namespace foretoken {

// Instead of the file of a token map: every token is drafted.
inline constexpr std::string_view kAllTokens = "all";

struct DraftOptions {
  std::string algorithm;                  // canonical, see algorithm_named; empty: no drafts
  bool is_unasked = false;                // the algorithm was not named by the user
  std::string folder;                     // of the draft model; empty: none was given
  std::string target_folder;              // whose checkpoint may carry a draft head
  ModelOptions load;                      // of the draft model
  std::optional<int> steps, topk, nodes;  // absent: chosen
  std::optional<int> window;              // positions that the draft model sees; absent: all
  TreeBudget budget = TreeBudget::kMeasured;
  Coupling coupling = Coupling::kMeasured;
  // File of the tokens that are drafted, or kAllTokens; empty: see DraftedTokens::usual.
  std::string token_map;
  OwnOptions own;                   // of single algorithms
  bool serves_predictions = true;   // drafts from predictions, whatever the algorithm
  bool serves_constraints = false;  // drafts what constraints let expect, likewise
};

}  // namespace foretoken
