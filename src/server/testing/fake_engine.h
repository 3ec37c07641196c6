#pragma once
// FakeEngine: the engine's port played by a script, for tests of the server. One thread "steps" all
// running requests at a fixed pace; a step gives each some tokens of its scripted answer. Obeys
// stop tokens, limits, cancellation and abort as the real engine does; the end of a script is the
// end of a constrained text. Not a model.

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine_port.h"

namespace foretoken {

class FakeEngine final : public EnginePort {
 public:
  // The answer to a request: all tokens the model would ever produce.
  using Script = std::function<std::vector<Token>(const Request&)>;

  explicit FakeEngine(Script script);
  ~FakeEngine() override;

  // Settings; before requests arrive.
  std::atomic<std::chrono::microseconds> pace{std::chrono::microseconds(500)};
  int tokens_per_step = 1;
  bool with_drafts = false;       // report proposals as if speculating
  std::optional<Finish> failure;  // every request ends so, after `failure_after` tokens
  int failure_after = 0;
  std::optional<Refusal> refusal;         // of submit()
  std::shared_future<bool> flush_answer;  // when valid, flush_cache() waits for it
  std::string broken;                     // what check_integrity() finds
  EngineStats figures;                    // what stats() reports beside the load

  std::optional<Refusal> submit(Request request) override;
  void abort(const std::string& id) override;
  void abort_all() override;
  std::future<bool> flush_cache() override;
  EngineStats stats() const override;
  std::future<std::string> check_integrity() override;
  std::future<void> pause(Pause how) override;
  void resume() override;

  // What arrived, in order.
  std::vector<Request> received() const;
  int cancelled() const { return cancelled_; }  // requests that ended because their stream was cut
  int running() const;
  std::optional<Pause> paused() const;

 private:
  struct Running {
    Request request;
    std::vector<Token> script;
    std::size_t done = 0;
    bool aborted = false;
  };

  void loop();
  bool step(Running& running);  // false: finished
  static DraftTrace trace_of(const std::vector<SampledToken>& tokens);

  Script script_;
  mutable std::mutex mutex_;
  std::vector<Running> running_;
  std::vector<Request> received_;
  std::optional<Pause> pause_;
  std::atomic<int> cancelled_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace foretoken
