#include "server/request/prompt_plan.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "base/rng.h"
#include "server/chat/thoughts_first.h"
#include "server/request/answer_limit.h"
#include "server/request/body_fields.h"
#include "server/request/sampling_request.h"
#include "server/structured/grammar_constraint.h"

namespace foretoken {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kStopBytes = 32;  // of an automaton, for a byte of stop strings

std::optional<Refusal> check_tokens(const AskedPrompt& asked, std::int64_t vocab) {
  if (asked.tokens.empty()) return Refusal{"the prompt is empty: at least one token is needed"};
  for (const Token token : asked.tokens)
    if (token < 0 || token >= vocab)
      return Refusal{fmt::format("input_ids must be in [0, {}], got {}.", vocab - 1, token)};
  if (asked.logprob_start > static_cast<std::int64_t>(asked.tokens.size()))
    return Refusal{
        fmt::format("logprob_start_len ({}) is higher than the number of input tokens ({}).",
                    asked.logprob_start, asked.tokens.size())};
  return std::nullopt;
}

// --allow-auto-truncate: keeps the beginning, leaving room for one token.
void truncate(const ServerConfig& config, AskedPrompt& asked) {
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(config.context_length - 1, 1));
  if (!config.allow_auto_truncate || asked.tokens.size() <= limit) return;
  log_warning("request {}: the input of {} tokens is cut to {} tokens", asked.id,
              asked.tokens.size(), limit);
  asked.tokens.resize(limit);
}

Refusal too_large(double bytes, double most) {
  return Refusal{fmt::format(
      "the answer could take up to {:.0f} MiB of memory, more than the {:.0f} MiB that this server "
      "gives to one: ask for fewer tokens, choices or logprobs",
      std::ceil(bytes / kMiB), most / kMiB)};
}

// Resolves the sampling of a choice so that the answers fit into what a request may hold: a default
// length shrinks, a length that the body names is refused.
std::optional<Refusal> resolve_within_limits(const ServerConfig& config, const AskedPrompt& asked,
                                             GenerationPlan& plan, Request& out) {
  const double per_token = answer_bytes_per_token(asked), n = asked.n;
  const double fixed = fixed_answer_bytes(asked);
  const double held =
      plan.held_bytes + sizeof(Token) * static_cast<double>(asked.tokens.size()) +
      (asked.prediction ? sizeof(Token) * static_cast<double>(asked.prediction->size()) : 0.0) +
      (asked.stop != nullptr ? kStopBytes * static_cast<double>(asked.stop->total_bytes()) : 0.0);
  const double most = plan.is_cumulative ? kMaxEventBytes : kMaxHeldBytes;
  const double affordable =
      (std::min(most, (kMaxHeldBytes - held) / n) - fixed) / per_token;  // tokens of each choice
  std::int64_t standard = asked.default_max_new_tokens.value_or(config.context_length);
  if (affordable >= 1.0 && affordable < static_cast<double>(standard))
    standard = static_cast<std::int64_t>(affordable);
  if (auto refusal = resolve_sampling(asked, config, standard, out)) return refusal;
  const double choice = fixed + per_token * out.max_new_tokens;
  if (choice > most) return too_large(choice, most);
  if (held + n * choice > kMaxHeldBytes) return too_large(held + n * choice, kMaxHeldBytes);
  plan.held_bytes = held + n * choice;
  return std::nullopt;
}

std::string choice_id(const AskedPrompt& asked, int choice) {
  if (asked.number_from >= 0) return fmt::format("{}_{}", asked.id, asked.number_from + choice);
  return asked.n == 1 ? asked.id : fmt::format("{}_{}", asked.id, choice);
}

// What the output is bound to; null: to nothing.
Result<std::shared_ptr<const ConstraintSource>> constraint_of(ServerContext& context,
                                                              const AskedPrompt& asked,
                                                              const std::vector<Token>& stops) {
  std::shared_ptr<const ConstraintSource> constraint = asked.constraint;
  if (asked.grammar) {
    auto parts = grammar_parts(context, *asked.grammar, stops);
    if (!parts) return parts.refusal();
    constraint = behind_thoughts(*std::move(parts), asked.thought_place.value_or(ThoughtPlace{}),
                                 context.config.vocab);
  }
  if (!asked.thought_limit) return constraint;
  if (!asked.thought_place && asked.grammar)  // which binds from the first token
    return Refusal{fmt::format("only one of {} and {} can be set", asked.thought_limit->field,
                               asked.grammar->field)};
  const ThoughtPlace place =
      asked.thought_place ? *asked.thought_place : thoughts_after(context, asked.tokens);
  return bound_thoughts(context, *asked.thought_limit, place, std::move(constraint));
}

// What all choices of a prompt have in common; takes the prompt's tokens and prediction.
Request shared_request(AskedPrompt& asked, Request resolved) {
  resolved.prompt = SharedTokens(std::move(asked.tokens));
  if (asked.prediction) resolved.prediction = SharedTokens(*std::move(asked.prediction));
  resolved.sampling.top_logprobs = asked.top_logprobs;
  resolved.sampling.logprob_tokens = asked.logprob_tokens;
  resolved.hidden_start = hidden_start(asked.hidden, resolved.prompt.size());
  resolved.rank = asked.rank;
  resolved.logprob_start = static_cast<int>(asked.logprob_start);
  resolved.draft_wish = asked.draft_wish.value_or(DraftWish{});
  resolved.cache_salt = asked.cache_salt;
  resolved.deadline = asked.deadline;
  return resolved;
}

TextStream::Options text_options(const AskedPrompt& asked) {
  return {.stops = asked.stop,
          .trim = asked.no_stop_trim ? StopTrim::kKeep : StopTrim::kTrim,
          .special = asked.skip_special_tokens ? SpecialText::kSkip : SpecialText::kKeep};
}

// Puts the text of its session before the prompt.
Result<std::shared_ptr<SessionTurn>> begin_turn(ServerContext& context, AskedPrompt& asked) {
  std::shared_ptr<SessionTurn> none;
  if (!asked.session) return none;
  if (asked.n != 1) return Refusal{"session_params: a request of a session has one choice"};
  const auto bos = context.tokenizer == nullptr ? std::nullopt : context.tokenizer->bos();
  auto begun =
      context.sessions->begin(*asked.session, choice_id(asked, 0), std::move(asked.tokens), bos);
  if (!begun) return begun.refusal();
  for (const std::string& id : begun->replaced) context.engine.abort(id);
  asked.tokens = std::move(begun->prompt);
  return std::move(begun->turn);
}

}  // namespace

std::optional<Refusal> add_prompt(ServerContext& context, AskedPrompt asked, GenerationPlan& plan) {
  auto turn = begin_turn(context, asked);
  if (!turn) return turn.refusal();
  if (auto refusal = check_tokens(asked, context.config.vocab)) return refusal;
  truncate(context.config, asked);
  Request resolved;
  if (auto refusal = resolve_within_limits(context.config, asked, plan, resolved)) return refusal;
  if (asked.hidden != HiddenWish::kNone && resolved.max_new_tokens == 0)
    return Refusal{"hidden states are returned of requests with max_new_tokens of at least 1"};
  auto constraint = constraint_of(context, asked, resolved.sampling.stop_tokens);
  if (!constraint) return constraint.refusal();
  resolved.constraint = *std::move(constraint);
  if (auto refusal = check_batch_size(plan.choices.size() + static_cast<std::size_t>(asked.n)))
    return refusal;
  const std::uint64_t seed = asked.seed ? *asked.seed : context.next_seed();
  const Request shared = shared_request(asked, std::move(resolved));
  const int prompt_index = plan.choices.empty() ? 0 : plan.choices.back().prompt_index + 1;
  for (int i = 0; i < asked.n; ++i) {
    Request request = shared;
    request.id = choice_id(asked, i);
    request.sampling.seed = i == 0 ? seed : mix_seed(seed, static_cast<std::uint64_t>(i));
    RunningChoice& choice = plan.add(
        std::move(request), Choice(context.tokenizer, text_options(asked), asked.dialogue.get()));
    choice.choice.keep_hidden(asked.hidden);
    choice.turn = *turn;
    choice.prompt_index = prompt_index;
    choice.first_of_prompt = i == 0;
    if (asked.shows_prompt_ids) choice.shown_prompt = shared.prompt;
    choice.has_prediction = asked.prediction.has_value();
    choice.reports_drafts = asked.draft_wish.has_value();
    choice.tells_steps = asked.draft_wish && asked.draft_wish->is_traced;
  }
  if (asked.stream_interval)
    plan.stream_interval = static_cast<int>(
        std::min<std::int64_t>(*asked.stream_interval, context.config.context_length));
  if (context.tokenizer == nullptr && asked.stop != nullptr)
    return Refusal{
        "stop strings need a tokenizer, and this server runs with "
        "--skip-tokenizer-init: use stop_token_ids"};
  return std::nullopt;
}

}  // namespace foretoken
