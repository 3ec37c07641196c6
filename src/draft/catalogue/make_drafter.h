#pragma once
// From options to a drafter: the only place that knows which model an algorithm means. Loading
// comes first, because memory for KV is shared out when all weights are in place. Throws Error;
// used at start by one thread.

#include <cstddef>
#include <functional>
#include <memory>

#include "backend/ops.h"
#include "draft/catalogue/draft_options.h"
#include "draft/drafter.h"
#include "draft/step_pace.h"
#include "model/draft_model.h"

namespace foretoken {

// The draft model, without memory for KV yet; null when nothing is drafted or no model is needed.
std::unique_ptr<DraftModel> load_draft_model(Ops& ops, const Decoder& target,
                                             const DraftOptions& options);

// What each page of the cache costs on top of the target's KV.
std::size_t draft_bytes_per_page(const LoadOps& ops, const DraftModel& model);

// And each sequence that may run at once.
std::size_t draft_bytes_per_slot(const DraftModel& model);

// Drafts may come from DraftOptions::ngram.corpora, which the caller makes.
bool drafts_from_corpora(const DraftOptions& options);

// What drafting without a model takes, whatever the cache holds.
std::size_t draft_fixed_bytes(const DraftOptions& options);

// What drafting takes from the scratch of a step, at most: `rows` of the target in it, of so many
// sequences. Without what ops keep to themselves, for forwards of draft_forward_size at most.
std::size_t draft_step_bytes(const DraftModel& model, const TreeShape& shape, std::int64_t rows,
                             int num_slots);
ForwardSize draft_forward_size(const DraftModel& model, const TreeShape& shape, std::int64_t rows,
                               int num_slots);

// model: what load_draft_model gave. num_slots: sequences at once. pace: of all drafters; null: as
// the options have it.
std::unique_ptr<Drafter> make_drafter(Ops& ops, std::unique_ptr<DraftModel> model,
                                      const DraftOptions& options, const DraftPlan& plan,
                                      int num_pages, int num_slots,
                                      std::shared_ptr<StepPace> pace = nullptr);

// Makes the drafter that runs a model, for trees of this shape.
using MakeModelPart =
    std::function<std::unique_ptr<Drafter>(const TreeShape&, std::shared_ptr<DraftPace>)>;

// The drafters of a plan with this pace, the one that runs a model by the caller.
std::unique_ptr<Drafter> join_drafters(const DraftOptions& options, const DraftPlan& plan,
                                       int num_slots, std::shared_ptr<StepPace> pace,
                                       const MakeModelPart& make_model_part);

}  // namespace foretoken
