#pragma once
// AskedPrompt: what a request body asks for one prompt. One of the two plans of a request:
//
//   body --routes--> AskedPrompt --add_prompt--> GenerationPlan --start_generation--> answer
//                    what is asked               what runs
//
// Routes fill it, field by field. It names what the client wants, with its choices not multiplied
// and its limits not resolved; GenerationPlan holds what the engine gets. Plain data.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "batch/token_constraint.h"
#include "server/chat/thought_budget.h"
#include "server/chat/thought_limit.h"
#include "server/context/session_store.h"
#include "server/request/draft_wish.h"
#include "server/request/hidden_states.h"
#include "server/structured/grammar_request.h"
#include "text/dialogue/dialogue.h"
#include "text/stop_matcher.h"

namespace foretoken {

struct AskedPrompt {
  // ---- the prompt and its choices
  std::string id;
  int number_from = -1;  // >= 0: choices are "<id>_<number>"; else only where there are several
  int n = 1;             // choices
  std::vector<Token> tokens;
  std::uint64_t cache_salt = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<SessionParams> session;  // whose text comes before the tokens
  std::int64_t rank = 0;                 // see priority.h

  // ---- sampling, see sampling_request.h; unset: the default of the route
  std::optional<double> temperature, top_p, min_p;
  std::optional<double> frequency_penalty, presence_penalty, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;
  std::vector<std::pair<Token, float>> logit_bias;

  // ---- the length and the end
  std::optional<std::int64_t> max_new_tokens, min_new_tokens;
  std::optional<std::int64_t> default_max_new_tokens;  // unset: to the context limit
  bool cuts_length = false;                 // to what the context holds; else more is refused
  bool fills_context = false;               // max_new_tokens is null: no number and no default
  std::shared_ptr<const StopStrings> stop;  // null: none
  std::vector<Token> stop_token_ids;        // in the vocabulary, ascending, each once
  bool ignore_eos = false;

  // ---- what the output must be
  std::optional<GrammarRequest> grammar;
  std::shared_ptr<const ConstraintSource> constraint;  // where no grammar is asked for; null: none
  std::optional<ThoughtLimit> thought_limit;           // how many tokens may be thought
  std::optional<ThoughtPlace> thought_place;           // unset: the prompt tells

  // ---- what the answer shows
  std::shared_ptr<const Dialogue> dialogue;  // null: the answer has no parts
  bool skip_special_tokens = true;
  bool no_stop_trim = false;
  std::optional<std::int64_t> stream_interval;
  int top_logprobs = -1;  // -1: no logprobs
  std::int64_t logprob_start = -1;
  std::vector<Token> logprob_tokens;
  HiddenWish hidden = HiddenWish::kNone;
  double hidden_bytes = 0;  // of a position
  bool shows_prompt_ids = false;
  std::size_t echoed_bytes = 0;  // text of the prompt that each choice repeats

  // ---- drafts, of each choice
  std::optional<std::vector<Token>> prediction;
  std::optional<DraftWish> draft_wish;
};

}  // namespace foretoken
