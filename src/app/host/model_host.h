#pragma once
// ModelHost: the tree of objects behind a served model, built in one go from the options: thread
// pool, backend, decoder, KV store, drafter, engine. It only owns and wires; start and stop the
// engine through it. Construction throws Error and leaves nothing behind.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/machine/machine.h"
#include "app/options/options.h"
#include "backend/backend.h"
#include "base/threads.h"
#include "draft/catalogue/make_drafter.h"
#include "draft/from_text/ngram/corpora.h"
#include "engine/engine.h"
#include "model/decoder/decoder.h"
#include "model/runner.h"

namespace foretoken {

class ModelHost {
 public:
  // Makes the drafter from the draft model, which is null where none is run. num_slots: sequences
  // at once.
  using MakeDrafter = std::function<std::unique_ptr<Drafter>(
      Ops& ops, std::unique_ptr<DraftModel> model, const DraftSetup& setup, int num_pages,
      int num_slots)>;

  // make: in the place of make_drafter; empty: that.
  explicit ModelHost(const Options& options, const MakeDrafter& make = {});

  Engine& engine() { return *engine_; }
  const Decoder& decoder() const { return *decoder_; }
  const Ops& ops() const { return *ops_; }
  const EngineConfig& config() const { return engine_->config(); }
  std::size_t kv_bytes() const;
  std::size_t weight_bytes() const { return weight_bytes_; }
  // Of the draft model alone, parts of the two above.
  std::size_t draft_weight_bytes() const { return weight_bytes_ - decoder_->weight_bytes(); }
  std::size_t draft_kv_bytes() const;
  // Seconds that the parts of the construction took, by SGLang's names for them.
  const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }
  // Of the draft trees; nullopt: nothing is drafted, predictions apart.
  std::optional<TreeShape> tree_shape() const {
    return drafts() ? std::optional(drafts_->plan.shape) : std::nullopt;
  }
  // Who drafts, in the order in which reports and wishes number them.
  std::vector<std::string> drafters() const;
  const DraftSetup& planned_drafts() const { return *drafts_; }

  // The texts that drafts are taken from, so that more can be added; null: none are.
  const std::shared_ptr<Corpora>& corpora() const { return drafts_->corpora; }

  // Generates a few tokens, so that the first request finds everything in place, and forgets them.
  // The engine must have been started. Throws Error when the generation fails.
  void warm_up();

  // Lets the drafter draft the continuation of a text and warns when nothing it proposes is ever
  // right, which a broken or foreign draft model would otherwise show only in the speed.
  void check_drafts(const std::vector<Token>& prompt);

 private:
  bool drafts() const { return !drafts_->options.algorithm.empty(); }
  TokenDelta answer(std::vector<Token> prompt, int new_tokens);
  void load_drafts(const Options& options);
  EngineConfig size_engine(const Options& options, const MachineMemory& memory) const;

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<DraftModel> draft_model_;  // until the drafter owns it
  std::size_t weight_bytes_ = 0;             // of all models
  std::size_t page_bytes_ = 0;
  std::string kv_types_;  // for the log
  std::vector<std::pair<std::string, double>> phases_;
  std::size_t drafter_bytes_ = 0;           // beside models and pages
  std::optional<const DraftSetup> drafts_;  // from the time on when the target is there
  bool has_draft_model_ = false;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<TargetModel> simulated_;  // stands before the runner where there is one
  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace foretoken
