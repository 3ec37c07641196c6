#pragma once
// InstantEngine: the engine's port with an answer of a few tokens that is complete when submit()
// returns, so that handlers are fuzzed without threads or waiting. Keeps the promises that a front
// end relies on (scores where asked for, stop tokens, the limit, one finish). Not a model.

#include "engine/engine_port.h"

namespace foretoken::fuzz {

class InstantEngine final : public EnginePort {
 public:
  std::optional<Refusal> submit(Request request) override;
  void abort(const std::string&) override {}
  void abort_all() override {}
  std::future<bool> flush_cache() override;
  std::future<std::string> check_integrity() override;
  std::future<void> pause(Pause how) override;
  void resume() override {}
  EngineStats stats() const override { return {}; }
};

}  // namespace foretoken::fuzz
