#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "server/request/body_fields.h"
#include "server/request/generate_from_body.h"
#include "server/request/infill.h"
#include "server/request/prompt_plan.h"
#include "server/request/prompt_text.h"
#include "server/request/sampling_request.h"
#include "server/routes/openai/api.h"
#include "server/routes/openai/completions_format.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::int64_t kDefaultMaxTokens = 16;

struct Prompt {
  std::vector<Token> tokens;
  std::string text;  // for echo
};

Result<Prompt> from_text(const ServerContext& context, std::string_view text, AddSpecial special) {
  auto tokens = encode_prompt(context, text, special);
  if (!tokens) return tokens.refusal();
  return Prompt{*std::move(tokens), std::string(text)};
}

Result<Prompt> from_ids(const ServerContext& context, const json::array& ids) {
  auto tokens = token_list(ids);
  if (!tokens)
    return Refusal{
        "body.prompt: Input should be a string, a list of strings, a list of integers "
        "or a list of lists of integers"};
  Prompt prompt{*std::move(tokens), {}};
  if (context.tokenizer == nullptr)
    return Refusal{
        "this route answers with text, and this server runs with "
        "--skip-tokenizer-init: send input_ids to /generate"};
  prompt.text = context.tokenizer->decode(prompt.tokens, SpecialText::kSkip);
  return prompt;
}

// One prompt of a list: a text or a list of ids.
Result<Prompt> read_one(const ServerContext& context, const json::value& value,
                        AddSpecial special) {
  if (value.is_string()) return from_text(context, value.get_string(), special);
  if (value.is_array()) return from_ids(context, value.get_array());
  return Refusal{
      fmt::format("body.prompt: Input should be a string, a list of strings, a list of "
                  "integers or a list of lists of integers (found {} in the list)",
                  json_kind(value))};
}

Result<std::vector<Prompt>> read_prompts(const ServerContext& context, Fields& fields,
                                         bool is_infill) {
  fields.require("prompt");
  const auto wants_special = fields.boolean("add_special_tokens");
  const auto special =
      wants_special.value_or(true) && !is_infill ? AddSpecial::kYes : AddSpecial::kNo;
  if (!fields.ok()) return *fields.fault();
  const json::value& value = *fields.find("prompt");
  std::vector<Prompt> out;
  const bool is_one =
      !value.is_array() || value.get_array().empty() || value.get_array().front().is_number();
  if (is_one) {
    auto prompt = read_one(context, value, special);
    if (!prompt) return prompt.refusal();
    out.push_back(*std::move(prompt));
    return out;
  }
  if (const auto refusal = check_batch_size(value.get_array().size())) return *refusal;
  for (const json::value& item : value.get_array()) {
    auto prompt = read_one(context, item, special);
    if (!prompt) return prompt.refusal();
    out.push_back(*std::move(prompt));
  }
  return out;
}

void read_own_fields(Fields& fields, AskedPrompt& asked) {
  read_openai_length(fields, {"max_tokens"}, asked);
  if (!asked.fills_context) asked.default_max_new_tokens = kDefaultMaxTokens;
}

Result<GenerationPlan> plan_completions(ServerContext& context, Fields& body) {
  AskedPrompt asked;
  OpenAiCommon common = read_openai_common(body, context, BodyKind::kCompletion, asked);
  read_own_fields(body, asked);
  const bool echo = body.boolean("echo").value_or(false);
  if (body.has("logprobs"))
    asked.top_logprobs = read_top_logprobs(body, "logprobs", kMaxOpenAiLogprobs);
  if (echo && asked.top_logprobs >= 0) asked.logprob_start = 0;
  const std::string suffix = body.string("suffix").value_or("");
  if (echo && !suffix.empty()) body.refuse("echo and suffix cannot both be set");
  auto prompts = read_prompts(context, body, !suffix.empty());
  if (!prompts) return prompts.refusal();
  if (body.fault()) return *body.fault();

  GenerationPlan plan;
  plan.stream = common.stream;
  plan.stream_interval = context.config.stream_interval;
  std::vector<std::string> echoes;
  for (Prompt& prompt : *prompts) {
    AskedPrompt one = asked;
    one.tokens = std::move(prompt.tokens);
    if (!suffix.empty()) {
      auto infill = infill_prompt(context, {.before = std::move(one.tokens), .after = suffix});
      if (!infill) return infill.refusal();
      use_infill(*std::move(infill), one);
    }
    const auto at = static_cast<std::size_t>(&prompt - prompts->data());
    one.cache_salt = read_cache_salt(body, at, prompts->size());
    if (body.fault()) return *body.fault();
    if (echo) one.echoed_bytes = prompt.text.size();
    if (echo) echoes.push_back(std::move(prompt.text));
    if (prompts->size() > 1) one.number_from = static_cast<int>(plan.choices.size());
    if (const auto refusal = add_prompt(context, std::move(one), plan)) return *refusal;
  }
  plan.format = std::make_unique<CompletionFormat>(context, std::move(common), std::move(echoes));
  return plan;
}

}  // namespace

void handle_completions(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kOpenAi, plan_completions);
}

}  // namespace foretoken
