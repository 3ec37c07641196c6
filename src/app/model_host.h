#pragma once
// ModelHost: the tree of objects behind a served model, built in one go from the options: thread
// pool, backend, decoder, KV store, drafter, engine. It only owns and wires; start and stop the
// engine through it. Construction throws Error and leaves nothing behind.

#include <memory>
#include <vector>

#include "app/machine.h"
#include "app/options.h"
#include "backend/backend.h"
#include "base/threads.h"
#include "engine/engine.h"
#include "model/decoder.h"
#include "model/runner.h"
#include "spec/drafter.h"

namespace foretoken {

class ModelHost {
 public:
  explicit ModelHost(const Options& options);

  Engine& engine() { return *engine_; }
  const Decoder& decoder() const { return *decoder_; }
  const EngineConfig& config() const { return engine_->config(); }
  std::size_t kv_bytes() const;

  // Generates a few tokens, so that the first request finds everything in place, and forgets them.
  // The engine must have been started. Throws Error when the generation fails.
  void warm_up();

 private:
  EngineConfig size_engine(const Options& options, const MachineMemory& memory) const;

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Drafter> drafter_;
  std::unique_ptr<Engine> engine_;
};

// Tokens that end an answer: generation_config.json's, else config.json's.
std::vector<Token> stop_tokens_of(const std::string& model_folder, const ModelConfig& config);

}  // namespace foretoken
