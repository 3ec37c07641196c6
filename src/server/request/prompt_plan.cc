#include "server/request/prompt_plan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/rng.h"
#include "server/request/answer_limit.h"
#include "server/structured/grammar_constraint.h"

namespace foretoken {
namespace {

constexpr std::size_t kMaxChoicesOfRequest = 16384;
constexpr double kMiB = 1 << 20;
constexpr double kStopBytes = 32;  // of an automaton, for a byte of stop strings

std::optional<Refusal> check_tokens(const PromptPlan& prompt, std::int64_t vocab) {
  if (prompt.tokens.empty()) return Refusal{"the prompt is empty: at least one token is needed"};
  for (const Token token : prompt.tokens)
    if (token < 0 || token >= vocab)
      return Refusal{fmt::format("input_ids must be in [0, {}], got {}.", vocab - 1, token)};
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

Refusal too_large(double bytes, double most) {
  return Refusal{fmt::format(
      "the answer could take up to {:.0f} MiB of memory, more than the {:.0f} MiB that this server "
      "gives to one: ask for fewer tokens, choices or logprobs",
      std::ceil(bytes / kMiB), most / kMiB)};
}

AnswerNeeds needs_of(const PromptPlan& prompt) {
  AnswerNeeds needs;
  needs.top_logprobs = prompt.top_logprobs;
  needs.further_logprobs = static_cast<double>(prompt.logprob_tokens.size());
  needs.repeated_bytes = static_cast<double>(prompt.echoed_bytes);
  if (prompt.logprob_start >= 0)
    needs.scored_tokens =
        static_cast<double>(prompt.tokens.size()) - static_cast<double>(prompt.logprob_start);
  return needs;
}

// Resolves the sampling parameters so that the answers fit into what a request may hold: a default
// length shrinks, a wish beyond it is refused.
Result<ResolvedSampling> resolve_within_limits(const ServerConfig& config, const PromptPlan& prompt,
                                               GenerationPlan& plan) {
  const AnswerNeeds needs = needs_of(prompt);
  const double per_token = answer_bytes_per_token(needs), n = prompt.sampling.n;
  const double fixed = fixed_answer_bytes(needs, prompt.sampling);
  const double held =
      plan.held_bytes + sizeof(Token) * static_cast<double>(prompt.tokens.size()) +
      (prompt.prediction ? sizeof(Token) * static_cast<double>(prompt.prediction->size()) : 0.0) +
      (prompt.sampling.stop != nullptr
           ? kStopBytes * static_cast<double>(prompt.sampling.stop->total_bytes())
           : 0.0);
  const double most = plan.is_cumulative ? kMaxEventBytes : kMaxHeldBytes;
  const double affordable =
      (std::min(most, (kMaxHeldBytes - held) / n) - fixed) / per_token;  // tokens of each choice
  const auto size = static_cast<std::int64_t>(prompt.tokens.size());
  std::int64_t standard = prompt.default_max_new_tokens.value_or(config.context_length);
  if (affordable >= 1.0 && affordable < static_cast<double>(standard))
    standard = static_cast<std::int64_t>(affordable);
  auto resolved = resolve_sampling(prompt.sampling, config, size, standard);
  if (!resolved) return resolved;
  const double choice = fixed + per_token * resolved->max_new_tokens;
  if (choice > most) return too_large(choice, most);
  if (held + n * choice > kMaxHeldBytes) return too_large(held + n * choice, kMaxHeldBytes);
  plan.held_bytes = held + n * choice;
  return resolved;
}

std::string choice_id(const PromptPlan& prompt, int choice) {
  if (prompt.number_from >= 0) return fmt::format("{}_{}", prompt.id, prompt.number_from + choice);
  return prompt.sampling.n == 1 ? prompt.id : fmt::format("{}_{}", prompt.id, choice);
}

// What the output is bound to; null: to nothing.
Result<std::shared_ptr<const ConstraintSource>> constraint_of(ServerContext& context,
                                                              const PromptPlan& prompt,
                                                              const std::vector<Token>& stops) {
  const SamplingFields& sampling = prompt.sampling;
  std::shared_ptr<const ConstraintSource> constraint = prompt.constraint;
  if (sampling.grammar) {
    auto made = make_constraint(context, *sampling.grammar, stops);
    if (!made) return made.refusal();
    constraint = *std::move(made);
  }
  if (!sampling.thoughts) return constraint;
  if (!prompt.thoughts && sampling.grammar)  // which binds from the first token
    return Refusal{fmt::format("only one of {} and {} can be set", sampling.thoughts->field,
                               sampling.grammar->field)};
  return bound_thoughts(context, *sampling.thoughts,
                        prompt.thoughts ? *prompt.thoughts : thoughts_after(context, prompt.tokens),
                        std::move(constraint));
}

// Text beyond this is not encoded, whatever the tokenizer might make of it: runs of spaces can be
// one token, but nobody asks about megabytes of them, and encoding takes a hundred bytes per byte.
std::size_t most_text_bytes(const ServerConfig& config) {
  constexpr std::size_t kLeast = 1 << 20, kOfToken = 64;
  return std::max(kLeast, kOfToken * static_cast<std::size_t>(config.context_length));
}

// The end of the last character that ends within `limit` bytes.
std::size_t whole_characters(std::string_view text, std::size_t limit) {
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

}  // namespace

std::optional<Refusal> add_prompt(ServerContext& context, PromptPlan prompt, GenerationPlan& plan) {
  if (auto refusal = check_tokens(prompt, context.config.vocab)) return refusal;
  truncate(context.config, prompt);
  const auto resolved = resolve_within_limits(context.config, prompt, plan);
  if (!resolved) return resolved.refusal();
  const auto constraint = constraint_of(context, prompt, resolved->params.stop_tokens);
  if (!constraint) return constraint.refusal();
  const int n = prompt.sampling.n;
  if (auto refusal = check_batch_size(plan.choices.size() + static_cast<std::size_t>(n)))
    return refusal;
  const std::uint64_t seed = prompt.sampling.seed ? *prompt.sampling.seed : context.next_seed();
  const SharedTokens tokens(std::move(prompt.tokens));
  const bool has_prediction = prompt.prediction.has_value();
  SharedTokens prediction;
  if (has_prediction) prediction = SharedTokens(*std::move(prompt.prediction));
  const int prompt_index = plan.choices.empty() ? 0 : plan.choices.back().prompt_index + 1;
  for (int i = 0; i < n; ++i) {
    ChoicePlan choice;
    Request& request = choice.request;
    request.id = choice_id(prompt, i);
    request.prompt = tokens;
    request.sampling = resolved->params;
    request.sampling.seed = i == 0 ? seed : mix_seed(seed, static_cast<std::uint64_t>(i));
    request.sampling.top_logprobs = prompt.top_logprobs;
    request.sampling.logprob_tokens = prompt.logprob_tokens;
    request.constraint = *constraint;
    request.max_new_tokens = resolved->max_new_tokens;
    request.logprob_start = static_cast<int>(prompt.logprob_start);
    request.prediction = prediction;
    request.draft_wish = prompt.draft_wish.value_or(DraftWish{});
    request.cache_salt = prompt.cache_salt;
    request.deadline = prompt.deadline;
    choice.text.stops = prompt.sampling.stop;
    choice.text.trim = prompt.sampling.no_stop_trim ? StopTrim::kKeep : StopTrim::kTrim;
    choice.text.special =
        prompt.sampling.skip_special_tokens ? SpecialText::kSkip : SpecialText::kKeep;
    choice.prompt_index = prompt_index;
    choice.first_of_prompt = i == 0;
    choice.has_prediction = has_prediction;
    choice.reports_drafts = prompt.draft_wish.has_value();
    plan.choices.push_back(std::move(choice));
  }
  if (prompt.sampling.stream_interval)
    plan.stream_interval = static_cast<int>(
        std::min<std::int64_t>(*prompt.sampling.stream_interval, context.config.context_length));
  if (context.tokenizer == nullptr && prompt.sampling.stop != nullptr)
    return Refusal{
        "stop strings need a tokenizer, and this server runs with "
        "--skip-tokenizer-init: use stop_token_ids"};
  return std::nullopt;
}

Result<std::vector<Token>> encode_text(const ServerContext& context, std::string_view text,
                                       AddSpecial special) {
  if (context.tokenizer == nullptr)
    return Refusal{
        "text needs a tokenizer, and this server runs with --skip-tokenizer-init: send "
        "input_ids to /generate"};
  if (const std::size_t most = most_text_bytes(context.config); text.size() > most)
    return Refusal{fmt::format("the text is too long to be tokenized: at most {} bytes (found {})",
                               most, text.size())};
  return context.tokenizer->encode(text, special);
}

Result<std::vector<Token>> encode_prompt(const ServerContext& context, std::string_view text,
                                         AddSpecial special) {
  const ServerConfig& config = context.config;
  if (config.allow_auto_truncate && text.size() > most_text_bytes(config))
    text = text.substr(0, whole_characters(text, most_text_bytes(config)));
  if (config.allow_auto_truncate || context.tokenizer == nullptr)
    return encode_text(context, text, special);
  const auto least = static_cast<std::int64_t>(context.tokenizer->least_tokens(text));
  if (least >= config.context_length)
    return Refusal{fmt::format(
        "The input (at least {} tokens) is longer than the model's context length ({} tokens).",
        least, config.context_length)};
  return encode_text(context, text, special);
}

void check_request_id(Fields& fields, std::string_view id) {
  constexpr std::size_t kMaxBytes = 256;
  if (id.size() > kMaxBytes)
    return fields.refuse_field("rid",
                               fmt::format("at most {} bytes (found {})", kMaxBytes, id.size()));
  for (std::size_t i = 0; i < id.size(); ++i) {
    const auto byte = static_cast<unsigned char>(id[i]);
    // U+0080..U+009F and the line separators U+2028, U+2029 besides those of ASCII.
    const bool is_c1 =
        byte == 0xC2 && i + 1 < id.size() && static_cast<unsigned char>(id[i + 1]) < 0xA0;
    const std::string_view rest = id.substr(i);
    if (byte < 0x20 || byte == 0x7F || is_c1 || rest.starts_with("\u2028") ||
        rest.starts_with("\u2029"))
      return fields.refuse_field("rid", "control characters are not allowed");
  }
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
  const double most = config.request_timeout_seconds;
  if (most > 0) seconds = std::min(seconds.value_or(most), most);
  if (!seconds) return std::nullopt;
  constexpr double kYear = 366.0 * 24 * 3600;
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(std::min(*seconds, kYear)));
}

int read_top_logprobs(Fields& fields, std::string_view name, std::int64_t most) {
  const auto count = fields.integer(name).value_or(0);
  if (count >= 0 && count <= most) return static_cast<int>(count);
  fields.refuse(fmt::format("{} must be in [0, {}], got {}.", name, most, count));
  return 0;
}

std::optional<Refusal> check_batch_size(std::size_t prompts) {
  if (prompts <= kMaxChoicesOfRequest) return std::nullopt;
  return Refusal{fmt::format("one request may have at most {} sequences", kMaxChoicesOfRequest)};
}

}  // namespace foretoken
