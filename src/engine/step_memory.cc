#include "engine/step_memory.h"

#include <algorithm>

#include "base/index.h"
#include "draft/catalogue/make_drafter.h"
#include "model/decoder/forward_memory.h"

namespace foretoken {
namespace {

// Of the vectors of a batch and of the plan, per row and per page of a sequence.
constexpr std::size_t kRowBytes = 256, kPageBytes = 16;

// Nodes of all trees but their roots.
std::int64_t most_drafted(const EngineConfig& config, int max_nodes, std::int64_t most_drafts) {
  return std::min(std::int64_t{config.max_running_requests} * (max_nodes - 1), most_drafts);
}

}  // namespace

// Decodes have their trees, prompts the rest of a chunk but at least a quarter of it, and no more
// than all slots hold.
std::int64_t most_step_rows(const EngineConfig& config, int max_nodes, std::int64_t most_drafts) {
  const std::int64_t slots = config.max_running_requests;
  const std::int64_t trees = slots + most_drafted(config, max_nodes, most_drafts);
  const std::int64_t chunk = config.chunked_prefill_size;
  const std::int64_t rows = chunk > 0
                                ? std::max(chunk, trees + std::max<std::int64_t>(chunk / 4, 1))
                                : trees + config.max_prefill_tokens;
  return std::min(rows, trees + slots * config.context_length);
}

std::size_t most_step_bytes(const EngineConfig& config, const StepOps& ops,
                            const StepModels& models) {
  const ModelConfig& target = models.target;
  const int slots = config.max_running_requests;
  const int max_nodes = models.max_nodes;
  const std::int64_t rows = most_step_rows(config, max_nodes, models.most_drafts);
  const int slice = logit_slice_rows(target.vocab, config.logit_slice_bytes);
  const auto logit_rows = std::min<std::int64_t>(rows, std::max(slice, kScoredRows + max_nodes));

  FeatureTaps taps;
  if (models.draft != nullptr) taps = models.draft->taps();
  // Logits are given back before the drafter begins.
  std::size_t later = rows_bytes(logit_rows, target.hidden + target.vocab, 2);
  // A node that has children has one that no other has.
  const std::int64_t drafted = most_drafted(config, max_nodes, models.most_drafts);
  const std::int64_t branches = std::min(drafted, (slots + drafted) / 2);
  const auto workspace_of = [&](ForwardSize size) {
    size.branch_nodes = branches;
    return ops.workspace_bytes(size);
  };
  std::size_t workspace = workspace_of(decoder_size(target, rows));
  if (models.draft != nullptr) {
    later = std::max(later, draft_step_bytes(*models.draft, models.shape, rows, slots));
    const ForwardSize size = draft_forward_size(*models.draft, models.shape, rows, slots);
    workspace = std::max(workspace, workspace_of(size));
  }
  // Trees, and what is stored while they grow, may reach beyond the longest text.
  const int tokens = config.context_length + max_nodes + draft_slots(models.shape);
  return decoder_bytes(target, rows, taps.layer_inputs.size()) + later + workspace +
         at(rows) * kRowBytes + at(slots) * at(pages_for(tokens)) * kPageBytes;
}

}  // namespace foretoken
