#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "server/request/body_fields.h"
#include "server/request/generate_from_body.h"
#include "server/request/priority.h"
#include "server/request/prompt_plan.h"
#include "server/request/prompt_text.h"
#include "server/request/sampling_request.h"
#include "server/request/session_params.h"
#include "server/routes/sglang/api.h"
#include "server/routes/sglang/format.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::int64_t kDefaultMaxNewTokens = 128;

// The prompts of a body: `text` or `input_ids`, one or a list.
struct PromptList {
  std::vector<std::vector<Token>> tokens;
  bool is_batch = false;
};

std::optional<Refusal> read_texts(const ServerContext& context, const json::value& text,
                                  PromptList& out) {
  const json::array one = text.is_string() ? json::array{text} : json::array{};
  out.is_batch = text.is_array();
  if (!text.is_string() && !text.is_array())
    return Refusal{
        fmt::format("body.text: Input should be a valid string or list of strings "
                    "(found {})",
                    json_kind(text))};
  const json::array& texts = text.is_array() ? text.get_array() : one;
  if (auto refusal = check_batch_size(texts.size())) return refusal;
  for (const json::value& item : texts) {
    if (!item.is_string())
      return Refusal{"body.text: Input should be a valid string or list of strings"};
    auto tokens = encode_prompt(context, item.get_string(), AddSpecial::kYes);
    if (!tokens) return tokens.refusal();
    out.tokens.push_back(*std::move(tokens));
  }
  return std::nullopt;
}

std::optional<Refusal> read_ids(const json::array& ids, PromptList& out) {
  const Refusal wrong{
      "body.input_ids: Input should be a list of integers or a list of lists of integers"};
  out.is_batch = !ids.empty() && ids.front().is_array();
  if (!out.is_batch) {
    auto tokens = token_list(ids);
    if (!tokens) return wrong;
    out.tokens.push_back(*std::move(tokens));
    return std::nullopt;
  }
  if (auto refusal = check_batch_size(ids.size())) return refusal;
  for (const json::value& item : ids) {
    auto tokens = item.is_array() ? token_list(item.get_array()) : std::nullopt;
    if (!tokens) return wrong;
    out.tokens.push_back(*std::move(tokens));
  }
  return std::nullopt;
}

Result<PromptList> read_generate_prompts(const ServerContext& context, Fields& fields) {
  const json::value* text = fields.find("text");
  const json::array* ids = fields.array("input_ids");
  if (!fields.ok()) return *fields.fault();
  if ((text != nullptr) == (ids != nullptr))
    return Refusal{"Either text or input_ids should be provided, and not both."};
  PromptList out;
  if (auto refusal = text != nullptr ? read_texts(context, *text, out) : read_ids(*ids, out))
    return *refusal;
  if (out.tokens.empty()) return Refusal{"the batch is empty: at least one prompt is needed"};
  return out;
}

// Value `i` of a field that is one value for all prompts or a list with one for each. nullptr:
// none.
class PerPrompt {
 public:
  PerPrompt(Fields& fields, std::string_view name, const PromptList& prompts)
      : value_(fields.find(name)) {
    const bool is_list = value_ != nullptr && value_->is_array() && prompts.is_batch;
    list_ = is_list ? &value_->get_array() : nullptr;
    if (list_ != nullptr && list_->size() != prompts.tokens.size())
      fields.refuse(fmt::format("the length of {} ({}) should be that of the batch ({})", name,
                                list_->size(), prompts.tokens.size()));
  }
  const json::value* at(std::size_t i) const {
    return list_ == nullptr || i >= list_->size() ? value_ : &(*list_)[i];
  }

 private:
  const json::value* value_;
  const json::array* list_;
};

// token_ids_logprob: a list of ids, or for a batch a list of such lists.
const json::value* wanted_ids(const Fields& fields, const PromptList& prompts, std::size_t i) {
  const json::value* value = fields.find("token_ids_logprob");
  if (value == nullptr || !value->is_array() || !prompts.is_batch) return value;
  const json::array& list = value->get_array();
  const bool nested = !list.empty() && !list.front().is_number();
  return nested && i < list.size() ? &list[i] : value;
}

// The fields of one prompt as an object of their own, so that each is read in one way.
json::object fields_of_prompt(Fields& fields, const PromptList& prompts, std::size_t i) {
  json::object one;
  for (const char* name :
       {"rid", "return_logprob", "logprob_start_len", "top_logprobs_num", "extra_key", "cache_salt",
        "priority", "session_params", "return_hidden_states"}) {
    const PerPrompt per_prompt(fields, name, prompts);
    if (const json::value* value = per_prompt.at(i)) one[name] = *value;
  }
  if (const json::value* ids = wanted_ids(fields, prompts, i)) one["token_ids_logprob"] = *ids;
  return one;
}

// sampling_params over the server's --preferred-sampling-params. Parameters that a whole batch
// shares are read once: its stop strings are one automaton.
class SamplingReader {
 public:
  SamplingReader(const ServerContext& context, Fields& fields, const PromptList& prompts)
      : context_(context), fields_(fields), asked_(fields, "sampling_params", prompts) {}

  // A prompt without tokens: what sampling_params say.
  Result<AskedPrompt> of_prompt(std::size_t i) {
    const json::value* asked = asked_.at(i);
    if (!fields_.ok()) return *fields_.fault();
    if (last_ && asked == last_asked_) return *last_;
    json::object params;
    if (!context_.config.preferred_sampling_params.empty()) {
      auto preferred = parse_json_object(context_.config.preferred_sampling_params);
      if (!preferred) return preferred.refusal();
      params = *std::move(preferred);
    }
    if (asked != nullptr && !asked->is_null()) {
      if (!asked->is_object())
        return Refusal{
            fmt::format("body.sampling_params: Input should be a valid dictionary (found {})",
                        json_kind(*asked))};
      for (const auto& [key, value] : asked->get_object()) params[key] = value;
    }
    Fields fields(params, "sampling_params", fields_.fault());
    read_native_sampling(fields, context_.config, last_.emplace());
    last_asked_ = asked;
    return *last_;
  }

 private:
  const ServerContext& context_;
  Fields& fields_;
  PerPrompt asked_;
  std::optional<AskedPrompt> last_;
  const json::value* last_asked_ = nullptr;
};

// Checked as SGLang does, also where no logprobs are asked for.
std::vector<Token> read_logprob_ids(Fields& fields, std::int64_t vocab) {
  const json::value* value = fields.find("token_ids_logprob");
  if (value == nullptr) return {};
  auto ids = value->is_array() ? token_list(value->get_array()) : std::nullopt;
  if (!ids) {
    fields.refuse("token_ids_logprob must be a flat list of integers.");
    return {};
  }
  if (ids->size() > kMaxLogprobTokens)
    fields.refuse(fmt::format("token_ids_logprob: at most {} ids (found {})", kMaxLogprobTokens,
                              ids->size()));
  for (const Token id : *ids)
    if (id < 0 || id >= vocab)
      fields.refuse(
          fmt::format("token_ids_logprob contains out-of-vocabulary token id {}; valid "
                      "range is [0, {}).",
                      id, vocab));
  return *std::move(ids);
}

std::optional<Refusal> plan_prompt(ServerContext& context, Fields& fields, PromptList& prompts,
                                   std::size_t i, SamplingReader& sampling, GenerationPlan& plan) {
  auto asked = sampling.of_prompt(i);
  if (!asked) return asked.refusal();
  const json::object own = fields_of_prompt(fields, prompts, i);
  Fields own_fields(own, fields.path(), fields.fault());

  AskedPrompt prompt = *std::move(asked);
  prompt.id = own_fields.string("rid").value_or("");
  check_request_id(fields, prompt.id);
  // One rid for a whole batch: its prompts are numbered.
  const bool shares_id = !prompt.id.empty() && prompts.is_batch && !fields.find("rid")->is_array();
  if (shares_id) prompt.number_from = static_cast<int>(plan.choices.size());
  if (prompt.id.empty()) prompt.id = new_request_id();
  prompt.tokens = std::move(prompts.tokens[i]);
  if (!prompt.fills_context) prompt.default_max_new_tokens = kDefaultMaxNewTokens;
  const bool logprobs = own_fields.boolean("return_logprob").value_or(false);
  const int top = read_top_logprobs(own_fields, "top_logprobs_num", context.config.vocab);
  const auto start = own_fields.integer("logprob_start_len").value_or(-1);
  auto wanted = read_logprob_ids(own_fields, context.config.vocab);
  if (start < -1)
    fields.refuse(fmt::format("logprob_start_len must be at least -1, got {}.", start));
  if (logprobs) {
    prompt.top_logprobs = top;
    prompt.logprob_start = start;
    prompt.logprob_tokens = std::move(wanted);
  }
  prompt.draft_wish = read_draft_wish(fields, context.config);
  prompt.cache_salt = read_cache_salt(own_fields);
  prompt.shows_prompt_ids = fields.boolean("return_prompt_token_ids").value_or(false);
  prompt.deadline = read_deadline(fields, context.config);
  prompt.rank = read_rank(own_fields, context.config);
  prompt.session = read_session_params(own_fields);
  prompt.hidden = read_hidden_wish(own_fields, context.config, HiddenWish::kAll);
  prompt.hidden_bytes = hidden_bytes(prompt.hidden, context.config);
  if (!fields.ok()) return *fields.fault();
  return add_prompt(context, std::move(prompt), plan);
}

Result<GenerationPlan> plan_generation(ServerContext& context, Fields& body) {
  check_known_fields(body, BodyKind::kGenerate, context.unknown_fields);
  const bool text_in_logprobs = body.boolean("return_text_in_logprobs").value_or(false);
  GenerationPlan plan;
  plan.stream = body.boolean("stream").value_or(false);
  plan.is_cumulative = plan.stream && !context.config.incremental_streaming_output;
  plan.stream_interval = context.config.stream_interval;
  auto prompts = read_generate_prompts(context, body);
  if (!prompts) return prompts.refusal();
  if (body.fault()) return *body.fault();
  SamplingReader sampling(context, body, *prompts);
  for (std::size_t i = 0; i < prompts->tokens.size(); ++i)
    if (const auto refusal = plan_prompt(context, body, *prompts, i, sampling, plan))
      return *refusal;
  const bool is_list = prompts->is_batch || plan.choices.size() > 1;
  plan.format = std::make_unique<NativeFormat>(
      context, NativeFormat::Options{.is_list = is_list, .text_in_logprobs = text_in_logprobs});
  return plan;
}

}  // namespace

void handle_generate(ServerContext& context, const ExchangePtr& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kNative, plan_generation);
}

}  // namespace foretoken
