#include "server/prompt_plan.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/log.h"
#include "base/rng.h"

namespace foretoken {
namespace {

constexpr std::size_t kMaxChoicesOfRequest = 16384;

std::optional<Refusal> check_tokens(const PromptPlan& prompt, std::int64_t vocab) {
  if (prompt.tokens.empty()) return Refusal{"the prompt is empty: at least one token is needed"};
  for (const Token token : prompt.tokens)
    if (token < 0 || token >= vocab)
      return Refusal{fmt::format("input_ids must be in [0, {}], got {}.", vocab - 1, token)};
  for (const Token token : prompt.logprob_tokens)
    if (token < 0 || token >= vocab)
      return Refusal{
          fmt::format("token_ids_logprob must be in [0, {}], got {}.", vocab - 1, token)};
  if (prompt.logprob_start > static_cast<std::int64_t>(prompt.tokens.size()))
    return Refusal{
        fmt::format("logprob_start_len ({}) is higher than the number of input tokens ({}).",
                    prompt.logprob_start, prompt.tokens.size())};
  return std::nullopt;
}

// --allow-auto-truncate: keeps the beginning, leaving room for one token.
void truncate(const ServerConfig& config, PromptPlan& prompt) {
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(config.context_length - 1, 1));
  if (!config.allow_auto_truncate || prompt.tokens.size() <= limit) return;
  log_warning("request {}: the input of {} tokens is cut to {} tokens", prompt.id,
              prompt.tokens.size(), limit);
  prompt.tokens.resize(limit);
}

std::string choice_id(const PromptPlan& prompt, int choice) {
  if (prompt.number_from >= 0) return fmt::format("{}_{}", prompt.id, prompt.number_from + choice);
  return prompt.sampling.n == 1 ? prompt.id : fmt::format("{}_{}", prompt.id, choice);
}

}  // namespace

std::optional<Refusal> add_prompt(ServerContext& context, PromptPlan prompt, GenerationPlan& plan) {
  if (auto refusal = check_tokens(prompt, context.config.vocab)) return refusal;
  truncate(context.config, prompt);
  auto resolved = resolve_sampling(prompt.sampling, context.config,
                                   static_cast<std::int64_t>(prompt.tokens.size()),
                                   prompt.default_max_new_tokens);
  if (!resolved) return resolved.refusal();
  const int n = prompt.sampling.n;
  if (plan.choices.size() + static_cast<std::size_t>(n) > kMaxChoicesOfRequest)
    return Refusal{fmt::format("one request may have at most {} sequences", kMaxChoicesOfRequest)};
  const std::uint64_t seed = prompt.sampling.seed ? *prompt.sampling.seed : context.next_seed();
  const int prompt_index = plan.choices.empty() ? 0 : plan.choices.back().prompt_index + 1;
  for (int i = 0; i < n; ++i) {
    ChoicePlan choice;
    Request& request = choice.request;
    request.id = choice_id(prompt, i);
    request.prompt = prompt.tokens;
    request.sampling = resolved->params;
    request.sampling.seed = i == 0 ? seed : mix_seed(seed, static_cast<std::uint64_t>(i));
    request.sampling.top_logprobs = prompt.top_logprobs;
    request.sampling.logprob_tokens = prompt.logprob_tokens;
    request.max_new_tokens = resolved->max_new_tokens;
    request.logprob_start = static_cast<int>(prompt.logprob_start);
    request.cache_salt = prompt.cache_salt;
    request.deadline = prompt.deadline;
    choice.text.stops = prompt.sampling.stop;
    choice.text.trim = prompt.sampling.no_stop_trim ? StopTrim::kKeep : StopTrim::kTrim;
    choice.text.special =
        prompt.sampling.skip_special_tokens ? SpecialText::kSkip : SpecialText::kKeep;
    choice.prompt_index = prompt_index;
    choice.first_of_prompt = i == 0;
    plan.choices.push_back(std::move(choice));
  }
  if (prompt.sampling.stream_interval)
    plan.stream_interval = static_cast<int>(
        std::min<std::int64_t>(*prompt.sampling.stream_interval, context.config.context_length));
  if (context.tokenizer == nullptr && !prompt.sampling.stop.empty())
    return Refusal{
        "stop strings need a tokenizer, and this server runs with "
        "--skip-tokenizer-init: use stop_token_ids"};
  return std::nullopt;
}

Result<std::vector<Token>> encode_prompt(const ServerContext& context, std::string_view text,
                                         AddSpecial special) {
  if (context.tokenizer == nullptr)
    return Refusal{
        "text needs a tokenizer, and this server runs with --skip-tokenizer-init: send "
        "input_ids to /generate"};
  return context.tokenizer->encode(text, special);
}

std::uint64_t read_cache_salt(Fields& fields) {
  const std::string key =
      fields.string("extra_key").value_or("") + '\0' + fields.string("cache_salt").value_or("");
  return key.size() == 1 ? 0 : mix_seed(std::hash<std::string>()(key), 0);
}

std::optional<std::chrono::steady_clock::time_point> read_deadline(Fields& fields,
                                                                   const ServerConfig& config) {
  auto seconds = fields.number("timeout_seconds");
  if (seconds && !(*seconds > 0.0))
    fields.refuse(
        fmt::format("timeout_seconds must be positive, got {}.", fields.shown("timeout_seconds")));
  if (!seconds && config.request_timeout_seconds > 0) seconds = config.request_timeout_seconds;
  if (!seconds) return std::nullopt;
  constexpr double kYear = 366.0 * 24 * 3600;
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(std::min(*seconds, kYear)));
}

int read_top_logprobs(Fields& fields, std::string_view name) {
  const auto count = fields.integer(name).value_or(0);
  if (count >= 0 && count <= kMaxTopLogprobs) return static_cast<int>(count);
  fields.refuse(fmt::format("{} must be in [0, {}], got {}.", name, kMaxTopLogprobs, count));
  return 0;
}

}  // namespace foretoken
