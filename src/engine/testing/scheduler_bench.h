#pragma once
// SchedulerBench: a scheduler and a step, driven by hand one step at a time. For tests: after each
// step it checks that all invariants hold. One thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "engine/scheduler.h"
#include "engine/testing/hash_model.h"

namespace foretoken {

inline constexpr std::int64_t kVocab = 64;

// A scheduler and a step driven by hand, one step at a time.
struct SchedulerBench {
  explicit SchedulerBench(const EngineConfig& wanted,
                          std::unique_ptr<Drafter> own = make_null_drafter())
      : config(wanted),
        drafter(std::move(own)),
        model(*ops, config.total_tokens / kPageTokens, kVocab),
        pool(config.total_tokens / kPageTokens),
        cache(pool, config.radix_cache),
        step(*ops, model, *drafter, config.max_running_requests),
        scheduler(config, {.pool = pool,
                           .cache = cache,
                           .slots = step.slots(),
                           .max_nodes = step.max_nodes(),
                           .scratch_slots = step.scratch_slots()}) {}

  std::shared_ptr<TokenStream> add(std::vector<Token> prompt, int max_new_tokens,
                                   const std::string& id = {}) {
    Request request;
    request.id = id;
    request.prompt = std::move(prompt);
    request.max_new_tokens = max_new_tokens;
    return add(std::move(request));
  }

  std::shared_ptr<TokenStream> add(Request request) {
    request.stream = std::make_shared<TokenStream>();
    auto stream = request.stream;
    scheduler.add(std::move(request));
    return stream;
  }

  // The plan's facts of one step; nullopt when there was none.
  struct Facts {
    int prompt_tokens = 0;
    int trees = 0;
    int rows = 0;
  };
  std::optional<Facts> run() {
    auto plan = scheduler.plan();
    if (plan && plan->entries.empty()) {  // it tells who has left
      StepHandle handle = runner.launch(std::move(*plan));
      scheduler.retire(handle);
      return std::nullopt;
    }
    if (!plan) return std::nullopt;
    Facts facts{.prompt_tokens = plan->prompt_tokens, .trees = 0, .rows = 0};
    for (const StepEntry& entry : plan->entries) {
      facts.trees += entry.has_tree ? 1 : 0;
      facts.rows +=
          static_cast<int>(entry.chain.size()) + (entry.root != kNoToken ? 1
                                                  : entry.has_tree ? step.trees().size(entry.slot)
                                                                   : 0);
    }
    StepHandle handle = runner.launch(std::move(*plan));
    scheduler.retire(handle);
    EXPECT_EQ(scheduler.check_integrity(&step), "");
    return facts;
  }

  void run_all() {
    for (int i = 0; i < 10000 && !scheduler.is_idle(); ++i) run();
    EXPECT_TRUE(scheduler.is_idle());
  }

  EngineConfig config;
  ThreadPool threads{1, false};
  std::unique_ptr<Ops> ops = make_backend({.device = "reference"}, threads);
  std::unique_ptr<Drafter> drafter;
  HashModel model;
  PagePool pool;
  RadixCache cache;
  Step step;
  StepRunner runner{step, false};
  Scheduler scheduler;
};

inline EngineConfig small_config() {
  EngineConfig config;
  config.max_running_requests = 8;
  config.total_tokens = 64 * kPageTokens;
  config.context_length = 64 * kPageTokens;
  config.chunked_prefill_size = 64;
  return config;
}

inline std::vector<Token> text(int size, Token first = 1) {
  std::vector<Token> tokens;
  for (int i = 0; i < size; ++i) tokens.push_back((first + i * 7) % kVocab);
  return tokens;
}

inline std::optional<Finish> finish_of(TokenStream& stream) {
  auto delta = stream.take();
  return delta ? delta->finish : std::nullopt;
}

}  // namespace foretoken
