#include "draft/catalogue/make_drafter.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "base/log.h"
#include "batch/logit_slices.h"
#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/plan_drafts.h"
#include "draft/catalogue/union_drafter.h"
#include "draft/pace/measured_pace.h"
#include "draft/pace/simulated_pace.h"
#include "draft/with_model/draft_loading.h"
#include "draft/with_model/draft_reader.h"
#include "model/decoder/forward_memory.h"

namespace foretoken {
namespace {

void warn_without_model(const DraftOptions& options) {
  constexpr const char* kReason = "no draft model is run";
  warn_without_effect(!options.folder.empty(), "--speculative-draft-model-path", kReason);
  warn_without_effect(options.window.has_value(), "--speculative-draft-window-size", kReason);
  warn_without_effect(!options.token_map.empty(), "--speculative-token-map", kReason);
}

std::unique_ptr<StepPace> make_pace(const DraftSetup& setup) {
  if (setup.options.budget == TreeBudget::kFull) return std::make_unique<StepPace>();
  if (!setup.simulated_chances.empty())
    return std::make_unique<SimulatedPace>(setup.simulated_chances);
  return std::make_unique<MeasuredPace>();
}

}  // namespace

std::unique_ptr<DraftModel> load_draft_model(Ops& ops, const Decoder& target,
                                             const DraftSetup& setup) {
  const DraftOptions& options = setup.options;
  if (options.algorithm.empty()) return nullptr;
  const Algorithm* row = find_algorithm(model_algorithm(options));
  if (row == nullptr) {
    warn_without_model(options);
    return nullptr;
  }
  if (row->needs_folder) require_folder(options, row->name);
  log_info("Draft model: {}.", options.folder.empty() ? options.target_folder : options.folder);
  return row->load(ops, target, setup);
}

std::size_t draft_bytes_per_page(const LoadOps& ops, const DraftModel& model) {
  return ops.kv_page_bytes(model.kv_shape()) +
         at(model.feature_width() + model.carried_width()) * sizeof(float);
}

std::size_t draft_bytes_per_slot(const DraftModel& model) {
  return DraftReader::bytes_per_slot(model);
}

std::size_t draft_fixed_bytes(const DraftSetup& setup) {
  std::size_t bytes = 0;
  for (const DraftPart& part : setup.plan.parts)
    if (part.algorithm->bytes != nullptr) bytes += part.algorithm->bytes(setup.options);
  return bytes;
}

// What is read are the rows of the target and the roots behind them, and what sequences catch up
// with; then come the levels below the first, which the roots give. Logits are released at once.
std::size_t draft_step_bytes(const DraftModel& model, const TreeShape& asked, std::int64_t rows,
                             int num_slots) {
  const TreeShape shape = needed_shape(asked);
  const std::int64_t kept = std::int64_t{num_slots} * kCatchUpTokens;
  const std::int64_t read = rows + num_slots + kept;
  const std::int64_t level = std::int64_t{num_slots} * shape.topk;
  const auto levels = static_cast<std::size_t>(std::max(shape.steps - 1, 0));
  const auto slice = std::min<std::int64_t>(level, logit_slice_rows(model.logit_width()));
  const int carried = model.carried_width();
  return rows_bytes(read, model.feature_width()) + rows_bytes(num_slots, carried) +
         model.feature_bytes(rows) + model.feature_bytes(kept) + model.forward_bytes(read) +
         rows_bytes(num_slots, model.hidden_width()) +
         levels * (rows_bytes(level, carried > 0 ? carried : model.feature_width()) +
                   model.forward_bytes(level)) +
         model.logit_bytes(slice);
}

ForwardSize draft_forward_size(const DraftModel& model, const TreeShape& shape, std::int64_t rows,
                               int num_slots) {
  return model.forward_size(std::max(rows + std::int64_t{num_slots} * (1 + kCatchUpTokens),
                                     std::int64_t{num_slots} * needed_shape(shape).topk));
}

std::unique_ptr<Drafter> make_drafter(Ops& ops, std::unique_ptr<DraftModel> model,
                                      const DraftSetup& setup, int num_pages, int num_slots,
                                      std::shared_ptr<StepPace> pace) {
  if (model) model->allocate_kv(num_pages);
  if (!pace) pace = make_pace(setup);
  return join_drafters(setup, num_slots, std::move(pace),
                       [&](const Algorithm& algorithm, PartSetup part) {
                         part.ops = &ops;
                         part.model = std::move(model);
                         part.num_pages = num_pages;
                         return algorithm.make(std::move(part));
                       });
}

std::unique_ptr<Drafter> join_drafters(const DraftSetup& setup, int num_slots,
                                       std::shared_ptr<StepPace> all_pace,
                                       const MakeModelPart& make_model_part) {
  if (setup.plan.parts.empty()) return make_null_drafter();
  auto all = std::make_unique<UnionDrafter>(num_slots, std::move(all_pace));
  for (const auto& [algorithm, shape] : setup.plan.parts)
    all->add([&, row = algorithm, own = shape](std::shared_ptr<DraftPace> pace) {
      PartSetup part{.setup = setup, .shape = own, .num_slots = num_slots, .pace = std::move(pace)};
      return row->runs_model() ? make_model_part(*row, std::move(part))
                               : row->make(std::move(part));
    });
  return all;
}

}  // namespace foretoken
