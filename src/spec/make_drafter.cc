#include "spec/make_drafter.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "model/standalone_draft.h"
#include "spec/model_drafter.h"

namespace foretoken {

std::unique_ptr<DraftModel> load_draft_model(Ops& ops, const Decoder& target,
                                             const DraftOptions& options) {
  if (options.algorithm.empty()) return nullptr;
  if (options.folder.empty())
    throw Error({.what = "speculative algorithm " + options.algorithm + " needs a draft model",
                 .where = "--speculative-draft-model-path"});
  log_info("Draft model: {}.", options.folder);
  ModelOptions load = options.load;
  // It reads what the target reads, position by position.
  load.context_length = target.config().context_length;
  load.longer_context = LongerContext::kWarn;
  return std::make_unique<StandaloneDraft>(ops, load_model(ops, options.folder, load),
                                           target.config().vocab);
}

std::unique_ptr<Drafter> make_drafter(Ops& ops, std::unique_ptr<DraftModel> model,
                                      const TreeShape& shape, int num_pages) {
  if (!model) return make_null_drafter();
  model->allocate_kv(num_pages);
  return std::make_unique<ModelDrafter>(ops, std::move(model), shape, num_pages);
}

}  // namespace foretoken
