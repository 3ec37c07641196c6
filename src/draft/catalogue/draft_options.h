#pragma once
// What is drafted with, as asked for on the command line, and what the names mean: algorithms, and
// the trees that SGLang would choose for them. Plain data and pure functions; the models themselves
// are made in make_drafter.h.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/suffix/suffix_options.h"
#include "draft/tree_growth.h"
#include "draft/with_model/coupling.h"
#include "model/decoder/load.h"

namespace foretoken {

struct DraftOptions {
  std::string algorithm;                  // canonical, see algorithm_named; empty: no drafts
  std::string folder;                     // of the draft model; empty: none was given
  std::string target_folder;              // whose checkpoint may carry a draft head
  ModelOptions load;                      // of the draft model
  std::optional<int> steps, topk, nodes;  // absent: chosen
  std::optional<int> window;              // positions that the draft model sees; absent: all
  TreeBudget budget = TreeBudget::kMeasured;
  Coupling coupling = Coupling::kMeasured;
  std::string token_map;  // file of the tokens that are drafted; empty: all are
  NgramOptions ngram;
  SuffixOptions suffix;
  bool serves_predictions = true;   // drafts from predictions, whatever the algorithm
  bool serves_constraints = false;  // drafts what constraints let expect, likewise
  // Where acceptance is simulated: by depth, that a draft is accepted. Empty: it is not.
  std::vector<float> simulated_chances;
};

// Of trees for requests with a prediction, where SUFFIX does not read it anyway; drafts of them
// together.
inline constexpr int kPredictionNodes = 33, kPredictionDrafts = 256;
// Of what constraints let expect, likewise.
inline constexpr int kConstraintNodes = 17, kConstraintDrafts = 256;
// What they are drafted with there.
SuffixOptions prediction_options(const DraftOptions& options);

// The canonical name of an algorithm, or of several joined by '+', empty for none ("none"): NEXTN
// is EAGLE with a head that comes with the target. Throws Error for names unknown or unsupported,
// and where more than one would run a model.
std::string algorithm_named(const std::string& name);

// The canonical name of one of them, in whatever case it came; what is none in capitals.
std::string drafter_named(const std::string& name);

// Its parts, in order.
std::vector<std::string> algorithms_of(const DraftOptions& options);
bool drafts_by(const DraftOptions& options, const std::string& algorithm);

// The one whose drafts are made by a model, which takes memory and forwards; empty: none.
std::string model_algorithm(const DraftOptions& options);

// One of the drafters that share the trees.
struct DraftPart {
  std::string name;  // of an algorithm, or kPredictions
  TreeShape shape;   // of trees that it grows alone
};
inline constexpr const char* kPredictions = "PREDICTION";  // drafts from predictions alone
inline constexpr const char* kConstraints = "GRAMMAR";     // what constraints let expect

// Who drafts, and the trees that they share.
struct DraftPlan {
  std::vector<DraftPart> parts;
  TreeShape shape = {.steps = 0, .topk = 0, .nodes = 1};  // of all, predictions apart
  TreeShape model = {.steps = 0, .topk = 0, .nodes = 1};  // of what a model drafts

  int max_nodes() const;                          // of a tree, root included
  std::int64_t most_drafts(int num_slots) const;  // of all trees of a step together
};

// Fills in what was not asked for, by algorithm and architecture of the target as SGLang does.
// Logs a warning where a wish is changed; throws Error for trees that cannot be.
DraftPlan plan_drafts(const DraftOptions& options, const std::string& target_architecture);

}  // namespace foretoken
