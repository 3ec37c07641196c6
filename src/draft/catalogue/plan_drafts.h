#pragma once
// What --speculative-algorithm means: names, and the trees that SGLang would choose for them. Pure
// functions; the models themselves are made in make_drafter.h.

#include <string>
#include <string_view>
#include <vector>

#include "draft/algorithm.h"
#include "draft/draft_options.h"
#include "draft/draft_setup.h"

namespace foretoken {

// The canonical name of an algorithm, or of several joined by '+', empty for none ("none") and for
// those that are chosen later ("auto"): an alias becomes what it stands for. Throws Error for names
// unknown or unsupported, and where more than one would run a model.
std::string algorithm_named(const std::string& name);
inline constexpr std::string_view kUnasked = "AUTO";

// Those that draft for a target, by its path, when nobody says who drafts, as algorithm_named()
// gives them. At most one of them runs a model.
std::string unasked_algorithms(const std::string& target);

// The canonical name of one of them, in whatever case it came; what is none in capitals.
std::string drafter_named(const std::string& name);

// Its parts, in order.
std::vector<const Algorithm*> algorithms_of(const DraftOptions& options);
bool drafts_by(const DraftOptions& options, std::string_view algorithm);

// The one whose drafts are made by a model, which takes memory and forwards; empty: none.
std::string model_algorithm(const DraftOptions& options);

// Fills in what was not asked for, by algorithm and architecture of the target as SGLang does.
// Logs a warning where a wish is changed; throws Error for trees that cannot be.
DraftPlan plan_drafts(const DraftOptions& options, const std::string& target_architecture);

// The plan with the options that it is of, and the corpora that its parts draft from.
DraftSetup set_up_drafts(const DraftOptions& options, const std::string& target_architecture);

// What of the wishes cannot be, before any model is there: throws Error for trees that cannot be
// and for a draft model that nobody has named.
void check_draft_wishes(const DraftOptions& options);

// Throws Error where the configs show that a draft model will be refused.
void check_draft_models(const DraftOptions& options, const ModelConfig& target);

// The part of the plan that a request means by a name: PREDICTION is the one that reads predictions,
// under its own name. Other names become what drafter_named() returns. The plan may lack that part.
std::string wished_drafter(const std::string& name, const DraftSetup& setup);

// The operator's texts that one of the algorithms drafts from; no tokens: none does.
CorpusWish corpora_of(const DraftOptions& options);

}  // namespace foretoken
