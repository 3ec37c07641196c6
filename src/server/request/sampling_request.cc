#include "server/request/sampling_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <boost/json/value.hpp>

namespace foretoken {
namespace {

constexpr double kGreedyTemperature = 1e-6;  // below it the highest logit wins
constexpr double kMaxBias = 1e9;             // more changes nothing and might overflow

// A number with SGLang's range text.
void check(Fields& fields, std::string_view name, bool ok, std::string_view range) {
  if (!ok) fields.refuse(fmt::format("{} must be {}, got {}.", name, range, fields.shown(name)));
}

std::optional<double> read_in(Fields& fields, std::string_view name, double low, double high,
                              std::string_view range) {
  const auto value = fields.number(name);
  if (value) check(fields, name, *value >= low && *value <= high, range);
  return value;
}

std::optional<double> read_positive_to(Fields& fields, std::string_view name, double high,
                                       std::string_view range) {
  const auto value = fields.number(name);
  if (value) check(fields, name, *value > 0.0 && *value <= high, range);
  return value;
}

void read_logit_bias(Fields& fields, std::int64_t vocab, AskedPrompt& out) {
  const auto* bias = fields.object("logit_bias");
  if (bias == nullptr) return;
  if (bias->size() > kMaxBiases)
    return fields.refuse_field(
        "logit_bias", fmt::format("at most {} tokens (found {})", kMaxBiases, bias->size()));
  out.logit_bias.reserve(bias->size());
  for (const auto& [key, value] : *bias) {
    std::int64_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    // "01" is refused, too: beside "1" it would be a second bias of one token.
    if (error != std::errc() || std::to_string(id) != std::string_view(key) || id < 0 ||
        id >= vocab)
      return fields.refuse(fmt::format("logit_bias must have keys in [0, {}], got {}.", vocab - 1,
                                       std::string_view(key)));
    if (!value.is_number() || !std::isfinite(value.to_number<double>()))
      return fields.refuse_field("logit_bias", "values should be finite numbers");
    out.logit_bias.emplace_back(
        static_cast<Token>(id),
        static_cast<float>(std::clamp(value.to_number<double>(), -kMaxBias, kMaxBias)));
  }
}

// The expressions of stop_regex, also compiled.
std::pair<std::vector<std::string>, std::shared_ptr<const StopExpressions>> read_stop_expressions(
    Fields& fields) {
  auto texts = fields.strings("stop_regex").value_or(std::vector<std::string>{});
  std::erase(texts, std::string());
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  if (texts.size() > kMaxStopExpressions || bytes > kMaxStopBytes)
    fields.refuse_field("stop_regex",
                        fmt::format("at most {} expressions of {} bytes together (found {} of {})",
                                    kMaxStopExpressions, kMaxStopBytes, texts.size(), bytes));
  if (texts.empty() || !fields.ok()) return {};
  auto compiled = StopExpressions::compile(texts);
  if (compiled) return {std::move(texts), *std::move(compiled)};
  fields.refuse_field("stop_regex", compiled.refusal().message);
  return {};
}

void read_stops(Fields& fields, std::int64_t vocab, AskedPrompt& out) {
  auto stop = fields.strings("stop").value_or(std::vector<std::string>{});
  std::erase(stop, std::string());
  std::size_t bytes = 0;
  for (const std::string& text : stop) bytes += text.size();
  if (stop.size() > kMaxStopStrings)
    return fields.refuse_field(
        "stop", fmt::format("at most {} stop strings (found {})", kMaxStopStrings, stop.size()));
  if (bytes > kMaxStopBytes)
    return fields.refuse_field(
        "stop", fmt::format("at most {} bytes of stop strings (found {})", kMaxStopBytes, bytes));
  if (auto expressions = read_stop_expressions(fields); !expressions.first.empty())
    out.stop = std::make_shared<const StopStrings>(std::move(stop), std::move(expressions.first),
                                                   std::move(expressions.second));
  else if (!stop.empty())
    out.stop = std::make_shared<const StopStrings>(std::move(stop));

  auto& ids = out.stop_token_ids;
  ids = fields.tokens("stop_token_ids").value_or(std::vector<Token>{});
  if (ids.size() > kMaxStopTokens)
    return fields.refuse_field(
        "stop_token_ids", fmt::format("at most {} ids (found {})", kMaxStopTokens, ids.size()));
  // Clients send the ids of a model family; what this vocabulary lacks is never sampled.
  std::erase_if(ids, [&](Token token) { return token < 0 || token >= vocab; });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// What both dialects share, in SGLang's order of checks.
void read_common(Fields& fields, const ServerConfig& config, AskedPrompt& out) {
  const std::int64_t vocab = config.vocab;
  out.temperature = read_in(fields, "temperature", 0.0, std::numeric_limits<double>::max(),
                            "a non-negative finite number");
  out.top_p = read_positive_to(fields, "top_p", 1.0, "in (0, 1]");
  out.min_p = read_in(fields, "min_p", 0.0, 1.0, "in [0, 1]");
  out.top_k = fields.integer("top_k");
  if (out.top_k) check(fields, "top_k", *out.top_k >= -1, "-1 (disable) or at least 1");
  if (out.top_k == 0) out.top_k = -1;  // vLLM's and llama.cpp's word for it
  out.frequency_penalty = read_in(fields, "frequency_penalty", -2.0, 2.0, "in [-2, 2]");
  out.presence_penalty = read_in(fields, "presence_penalty", -2.0, 2.0, "in [-2, 2]");
  out.repetition_penalty =
      read_positive_to(fields, "repetition_penalty", 2.0, "in (0, 2] (1.0 = no penalty)");
  read_logit_bias(fields, vocab, out);
  read_stops(fields, vocab, out);
  if (const auto n = fields.integer("n")) {
    if (*n < 1 || *n > kMaxChoices)
      fields.refuse(fmt::format("n must be in [1, {}], got {}.", kMaxChoices, *n));
    else
      out.n = static_cast<int>(*n);
  }
  out.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  out.skip_special_tokens = fields.boolean("skip_special_tokens").value_or(true);
  fields.boolean("spaces_between_special_tokens");  // byte-level decoding never inserts spaces
  out.no_stop_trim = fields.boolean("no_stop_trim").value_or(false);
  out.grammar = read_grammar(fields, config.json_layout);
  out.thought_limit = read_thought_limit(fields);
}

void check_new_tokens(Fields& fields, const AskedPrompt& out, std::string_view min_name,
                      std::string_view max_name) {
  if (out.min_new_tokens && *out.min_new_tokens < 0)
    fields.refuse(fmt::format("min_new_tokens must be in [0, max_new_tokens], got {}.",
                              fields.shown(min_name)));
  if (out.max_new_tokens && *out.max_new_tokens < 0)
    fields.refuse(
        fmt::format("max_new_tokens must be at least 0, got {}.", fields.shown(max_name)));
}

// Within the range of float, and not rounded to zero where zero would be another meaning.
float narrow(const std::optional<double>& asked, double standard) {
  const double value = asked.value_or(standard);
  constexpr double kMax = std::numeric_limits<float>::max(), kMin = 1e-30;
  if (value != 0.0 && std::fabs(value) < kMin) return static_cast<float>(kMin);
  return static_cast<float>(std::clamp(value, -kMax, kMax));
}

}  // namespace

void read_native_sampling(Fields& fields, const ServerConfig& config, AskedPrompt& out) {
  static constexpr std::array<std::string_view, 36> kKnown = {"max_new_tokens",
                                                              "min_new_tokens",
                                                              "stop",
                                                              "stop_token_ids",
                                                              "stop_regex",
                                                              "temperature",
                                                              "top_p",
                                                              "top_k",
                                                              "min_p",
                                                              "frequency_penalty",
                                                              "presence_penalty",
                                                              "repetition_penalty",
                                                              "n",
                                                              "json_schema",
                                                              "regex",
                                                              "ebnf",
                                                              "structural_tag",
                                                              "response_format",
                                                              "structured_outputs",
                                                              "guided_json",
                                                              "guided_json_object",
                                                              "guided_regex",
                                                              "guided_choice",
                                                              "guided_grammar",
                                                              "guided_whitespace_pattern",
                                                              "ignore_eos",
                                                              "skip_special_tokens",
                                                              "spaces_between_special_tokens",
                                                              "no_stop_trim",
                                                              "stream_interval",
                                                              "logit_bias",
                                                              "sampling_seed",
                                                              "custom_params",
                                                              "thinking_budget",
                                                              "thinking_token_budget",
                                                              "reasoning_effort"};
  for (const auto& [key, value] : fields.all())
    if (std::find(kKnown.begin(), kKnown.end(), std::string_view(key)) == kKnown.end())
      fields.refuse(fmt::format("{} has no field '{}'", fields.path(), std::string_view(key)));
  read_common(fields, config, out);
  out.max_new_tokens = fields.integer("max_new_tokens");
  out.fills_context = fields.has_null("max_new_tokens");
  out.min_new_tokens = fields.integer("min_new_tokens");
  out.seed = fields.seed("sampling_seed");
  out.stream_interval = fields.integer("stream_interval");
  if (out.stream_interval && *out.stream_interval < 1)
    fields.refuse(fmt::format("stream_interval must be at least 1, got {}.", *out.stream_interval));
  check_new_tokens(fields, out, "min_new_tokens", "max_new_tokens");
}

void read_openai_sampling(Fields& fields, const ServerConfig& config, AskedPrompt& out) {
  read_common(fields, config, out);
  out.cuts_length = true;
  const auto repeat_penalty =
      read_positive_to(fields, "repeat_penalty", 2.0, "in (0, 2] (1.0 = no penalty)");
  if (!out.repetition_penalty) out.repetition_penalty = repeat_penalty;
  if (fields.boolean("include_stop_str_in_output").value_or(false)) out.no_stop_trim = true;
  out.min_new_tokens = fields.integer("min_tokens");
  out.seed = fields.seed("seed");
  check_new_tokens(fields, out, "min_tokens", "max_tokens");
  const SamplingDefaults& defaults = config.sampling_defaults;
  if (!out.temperature) out.temperature = defaults.temperature;
  if (!out.top_p) out.top_p = defaults.top_p;
  if (!out.min_p) out.min_p = defaults.min_p;
  if (!out.repetition_penalty) out.repetition_penalty = defaults.repetition_penalty;
  if (!out.top_k && defaults.top_k && *defaults.top_k >= 1) out.top_k = *defaults.top_k;
}

void read_openai_length(Fields& fields, std::initializer_list<std::string_view> names,
                        AskedPrompt& out) {
  for (const std::string_view name : names) {
    const auto length = fields.integer(name);
    if (!out.max_new_tokens) out.max_new_tokens = length;
  }
  const auto n_predict = fields.integer("n_predict");
  if (!out.max_new_tokens && n_predict) {
    out.fills_context = *n_predict == -1 || *n_predict == -2;
    if (!out.fills_context) out.max_new_tokens = n_predict;
  }
  if (out.max_new_tokens && *out.max_new_tokens < 0)
    fields.refuse(fmt::format("max_new_tokens must be at least 0, got {}.", *out.max_new_tokens));
}

std::optional<Refusal> resolve_sampling(const AskedPrompt& asked, const ServerConfig& config,
                                        std::int64_t default_max_new_tokens, Request& out) {
  const std::int64_t context = config.context_length;
  const auto prompt_tokens = static_cast<std::int64_t>(asked.tokens.size());
  if (prompt_tokens >= context)
    return Refusal{
        fmt::format("The input ({} tokens) is longer than the model's context length ({} tokens).",
                    prompt_tokens, context)};
  const std::int64_t room = context - prompt_tokens;
  std::int64_t limit = std::min(default_max_new_tokens, room);
  if (asked.max_new_tokens) {
    limit = *asked.max_new_tokens;
    if (limit > room && !asked.cuts_length && !config.allow_auto_truncate)
      return Refusal{fmt::format(
          "Requested token count exceeds the model's maximum context length of {} tokens. You "
          "requested a total of {} tokens: {} tokens from the input messages and {} tokens for the "
          "completion. Please reduce the number of tokens in the input messages or the completion "
          "to fit within the limit.",
          context, static_cast<std::uint64_t>(prompt_tokens) + static_cast<std::uint64_t>(limit),
          prompt_tokens, limit)};
    limit = std::min(limit, room);
  }
  const std::int64_t least = asked.min_new_tokens.value_or(0);
  if (least > limit)
    return Refusal{
        fmt::format("min_new_tokens must be in [0, max_new_tokens({})], got {}.", limit, least)};
  out.max_new_tokens = static_cast<int>(limit);
  SamplingParams& params = out.sampling;
  params.temperature = narrow(asked.temperature, 1.0);
  if (asked.temperature && *asked.temperature < kGreedyTemperature) params.temperature = 0.0F;
  params.top_k = static_cast<int>(std::min<std::int64_t>(asked.top_k.value_or(-1), config.vocab));
  params.top_p = narrow(asked.top_p, 1.0);
  params.min_p = narrow(asked.min_p, 0.0);
  params.frequency_penalty = narrow(asked.frequency_penalty, 0.0);
  params.presence_penalty = narrow(asked.presence_penalty, 0.0);
  params.repetition_penalty = narrow(asked.repetition_penalty, 1.0);
  params.min_new_tokens = static_cast<int>(least);
  params.logit_bias = asked.logit_bias;
  params.top_logprobs = -1;
  params.stop_tokens = asked.stop_token_ids;
  if (asked.ignore_eos) return std::nullopt;
  for (const Token token : config.eos) {
    const auto& ids = asked.stop_token_ids;
    if (token >= 0 && token < config.vocab && !std::binary_search(ids.begin(), ids.end(), token))
      params.stop_tokens.push_back(token);
  }
  return std::nullopt;
}

}  // namespace foretoken
