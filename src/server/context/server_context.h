#pragma once
// ServerContext: what every handler may use: configuration, engine, text, metrics, and the few
// counters that requests share. Owned by the Server; thread-safe.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/rng.h"
#include "engine/engine_port.h"
#include "server/context/metrics.h"
#include "server/context/response_store.h"
#include "server/context/server_config.h"
#include "server/context/session_store.h"
#include "server/context/weight_version.h"
#include "server/http/detached_work.h"
#include "server/json/known_fields.h"
#include "text/chat_template.h"
#include "text/cut_memory.h"
#include "text/dialogue/call_style.h"
#include "text/dialogue/reasoning_style.h"
#include "text/grammar_cache.h"
#include "text/tokenizer.h"

namespace foretoken {

// Ids of requests that are being answered; a second request under the same id is refused, because
// /abort_request could not tell them apart.
class RunningIds {
 public:
  bool claim(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return ids_.insert(id).second;
  }
  void release(const std::string& id) {
    const std::lock_guard lock(mutex_);
    ids_.erase(id);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> ids_;
};

// What was accepted, and since when it is averaged.
class AcceptanceMean {
 public:
  struct Counts {
    std::uint64_t accepted = 0, steps = 0;
  };
  void forget(Counts so_far) {
    const std::lock_guard lock(mutex_);
    forgotten_ = so_far;
  }
  // Tokens per step; nullopt: there were no steps.
  std::optional<double> tokens_per_step(Counts so_far) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t steps = so_far.steps - forgotten_.steps;
    if (steps == 0) return std::nullopt;
    return 1.0 +
           static_cast<double>(so_far.accepted - forgotten_.accepted) / static_cast<double>(steps);
  }

 private:
  mutable std::mutex mutex_;
  Counts forgotten_;
};

// The style of calls where tools are written into the system prompt, see chat/prompted_tools.h.
inline constexpr std::string_view kPromptedCalls = "hermes";

struct ServerContext {
  ServerContext(const ServerConfig& server_config, EnginePort& engine_port,
                const Tokenizer* text_tokenizer, const ChatTemplate* text_template)
      : config(server_config),
        engine(engine_port),
        tokenizer(text_tokenizer),
        chat_template(text_template),
        reasoning_style(style_of_reasoning()),
        prompts_tools(server_config.prompts_tools && text_template != nullptr &&
                      !text_template->reads_tools()),
        call_style(style_of_calls()),
        metrics(server_config) {
    if (text_tokenizer != nullptr && server_config.serves_grammars) {
      grammars = std::make_unique<GrammarCache>(*text_tokenizer);
      cuts = std::make_shared<CutMemory>();
    }
  }

  // Style: of reasoning or calls, by whose name a family is meant; with the model's own marks.
  template <typename Style>
  const Style* spelled(const Style* style) const {
    return spelled_by(style, [&](std::string_view token) {
      return tokenizer != nullptr && tokenizer->token_id(token).has_value();
    });
  }

  // The seed of a request that names none.
  std::uint64_t next_seed() { return mix_seed(config.random_seed, seeds_.fetch_add(1)); }

  const ServerConfig& config;
  EnginePort& engine;
  const Tokenizer* tokenizer;              // null: ids in, ids out
  const ChatTemplate* chat_template;       // null: no chat
  const ReasoningStyle* reasoning_style;   // null: reasoning is not told apart
  const bool prompts_tools;                // into the system prompt
  const CallStyle* call_style;             // null: calls of tools are left in the text
  std::unique_ptr<GrammarCache> grammars;  // null: no output is constrained
  std::shared_ptr<CutMemory> cuts;         // beside them
  Metrics metrics;
  UnknownFields unknown_fields;
  WeightVersion weight_version{config.weight_version};
  std::shared_ptr<SessionStore> sessions = std::make_shared<SessionStore>();
  AcceptanceMean acceptance;  // of internal_states
  // What requests of /v1/responses may go on from.
  std::unique_ptr<ResponseStore> responses = std::make_unique<ResponseStore>();
  // Shared, because a generation that the engine still wakes may outlive the server by a moment.
  std::shared_ptr<RunningIds> running_ids = std::make_shared<RunningIds>();
  std::atomic<bool> draining{false};
  std::atomic<bool> warned_of_strict{false};  // which this model's calls are not bound by
  DetachedWork detached;                      // last: what it runs uses the others

 private:
  std::string_view shown() const {
    return chat_template == nullptr ? std::string_view() : chat_template->source();
  }
  const ReasoningStyle* style_of_reasoning() const {
    const std::string& parser = config.reasoning_parser;
    return spelled(parser == "auto" ? reasoning_style_of_template(shown())
                                    : find_reasoning_style(parser));
  }
  const CallStyle* style_of_calls() const {
    const std::string& parser = config.tool_call_parser;
    if (prompts_tools && parser != "none") return find_call_style(kPromptedCalls);
    return spelled(parser == "auto" ? call_style_of_template(shown()) : find_call_style(parser));
  }

  std::atomic<std::uint64_t> seeds_{0};
};

// 32 random hexadecimal digits.
std::string new_request_id();

}  // namespace foretoken
