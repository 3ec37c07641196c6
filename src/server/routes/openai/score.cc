// POST /v1/score: how likely each of some tokens is to follow the query and an item, for every
// item. As SGLang scores with generating models: one step of one token, whose logprobs of the
// wanted ids are read.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "server/request/body_fields.h"
#include "server/request/generate_from_body.h"
#include "server/request/prompt_plan.h"
#include "server/request/prompt_text.h"
#include "server/request/sampling_request.h"
#include "server/routes/openai/api.h"
#include "server/routes/openai/types.h"

namespace foretoken {
namespace {

namespace json = boost::json;

// Probabilities, or those of the wanted tokens among themselves.
std::vector<double> scores_of(const std::vector<float>& logprobs, bool apply_softmax) {
  std::vector<double> scores;
  double most = apply_softmax ? -std::numeric_limits<double>::infinity() : 0.0, sum = 0.0;
  if (apply_softmax)
    for (const float logprob : logprobs) most = std::max(most, static_cast<double>(logprob));
  for (const float logprob : logprobs) {
    const bool possible = std::isfinite(logprob) && std::isfinite(most);
    scores.push_back(possible ? std::exp(static_cast<double>(logprob) - most) : 0.0);
    sum += scores.back();
  }
  if (apply_softmax && sum > 0.0)
    for (double& score : scores) score /= sum;
  return scores;
}

class ScoreFormat final : public AnswerFormat {
 public:
  ScoreFormat(const ServerConfig& config, std::string model, bool apply_softmax)
      : config_(config), model_(std::move(model)), apply_softmax_(apply_softmax) {}

  void write_event(const RunningChoice&, std::string&) override {}
  void write_ending(const std::vector<RunningChoice>&, std::string&) override {}

  HttpReply whole(const std::vector<RunningChoice>& choices) override {
    Usage usage;
    JsonWriter json;
    json.begin_object().key("scores").begin_array();
    for (const RunningChoice& choice : choices) {
      const auto& tokens = choice.choice.tokens();
      if (tokens.empty())
        return error_reply(ErrorStyle::kOpenAi, {"a part of the request was aborted", 503});
      json.begin_array();
      for (const double score : scores_of(tokens.front().token_logprobs, apply_softmax_))
        json.number(score);
      json.end_array();
      usage.prompt_tokens += choice.prompt_tokens;
      usage.cached_tokens += choice.choice.counters().cached_tokens;
    }
    json.end_array().field("model", model_).key("usage");
    write_usage(json, usage, config_);
    json.field("object", "scoring").end_object();
    return {.body = json.take()};
  }

 private:
  const ServerConfig& config_;
  std::string model_;
  bool apply_softmax_;
};

std::vector<Token> read_labels(Fields& fields, std::int64_t vocab) {
  if (!fields.has("label_token_ids"))
    fields.refuse("label_token_ids is required for generation (CausalLM) models.");
  auto labels = fields.tokens("label_token_ids").value_or(std::vector<Token>{});
  if (labels.size() > kMaxLogprobTokens)
    fields.refuse_field("label_token_ids",
                        fmt::format("at most {} ids (found {})", kMaxLogprobTokens, labels.size()));
  for (const Token label : labels)
    if (label < 0 || label >= vocab)
      fields.refuse(fmt::format("Token ID {} is out of vocabulary (vocab size: {})", label, vocab));
  return labels;
}

using Prompts = std::vector<std::vector<Token>>;

Result<Prompts> read_texts(const ServerContext& context, std::string_view query,
                           const json::value& items, bool item_first) {
  const json::array one = items.is_string() ? json::array{items} : json::array{};
  const json::array& list = items.is_array() ? items.get_array() : one;
  Prompts out;
  for (const json::value& item : list) {
    if (!item.is_string())
      return Refusal{"Invalid combination of query/items types for score_request."};
    const std::string_view text(item.get_string());
    std::string whole(item_first ? text : query);
    whole += item_first ? query : text;
    auto tokens = encode_prompt(context, whole, AddSpecial::kYes);
    if (!tokens) return tokens.refusal();
    out.push_back(*std::move(tokens));
  }
  return out;
}

Result<Prompts> read_ids(const json::array* query, const json::array& items, bool item_first) {
  const Refusal wrong{"Invalid combination of query/items types for score_request."};
  auto front = query != nullptr ? token_list(*query) : std::vector<Token>{};
  if (!front) return wrong;
  Prompts out;
  for (const json::value& item : items) {
    auto back = item.is_array() ? token_list(item.get_array()) : std::nullopt;
    if (!back) return wrong;
    auto& whole = out.emplace_back(item_first ? *back : *front);
    const auto& rest = item_first ? *front : *back;
    whole.insert(whole.end(), rest.begin(), rest.end());
  }
  return out;
}

Result<Prompts> read_score_prompts(const ServerContext& context, Fields& fields, bool item_first) {
  const json::value* query = fields.find("query");
  const json::value* items = fields.find("items");
  if (items == nullptr) return Refusal{"items must be provided"};
  if (!items->is_array() && !items->is_string())
    return Refusal{
        fmt::format("body.items: Input should be a string, a list of strings or a list "
                    "of lists of integers (found {})",
                    json_kind(*items))};
  if (items->is_array())
    if (const auto refusal = check_batch_size(items->get_array().size())) return *refusal;
  if (query != nullptr && !query->is_string() && !query->is_array())
    return Refusal{
        fmt::format("body.query: Input should be a string or a list of integers (found {})",
                    json_kind(*query))};
  const bool has_ids =
      items->is_array() && !items->get_array().empty() && items->get_array().front().is_array();
  const bool ids_query = query != nullptr && query->is_array();
  if (!has_ids && !ids_query)
    return read_texts(context,
                      query != nullptr ? std::string_view(query->get_string()) : std::string_view(),
                      *items, item_first);
  if (!items->is_array() || (query != nullptr && !ids_query))
    return Refusal{"Invalid combination of query/items types for score_request."};
  return read_ids(ids_query ? &query->get_array() : nullptr, items->get_array(), item_first);
}

Result<GenerationPlan> plan_scores(ServerContext& context, Fields& body) {
  const auto model = body.string("model").value_or(context.config.served_model_name);
  const auto labels = read_labels(body, context.config.vocab);
  const bool apply_softmax = body.boolean("apply_softmax").value_or(false);
  const bool item_first = body.boolean("item_first").value_or(false);
  const auto deadline = read_deadline(body, context.config);
  if (body.fault()) return *body.fault();
  auto prompts = read_score_prompts(context, body, item_first);
  if (!prompts) return prompts.refusal();

  GenerationPlan plan;
  for (auto& tokens : *prompts) {
    AskedPrompt prompt;
    prompt.id = new_request_id();
    prompt.tokens = std::move(tokens);
    prompt.max_new_tokens = 1;
    prompt.temperature = 0.0;  // logprobs of the plain logits
    prompt.top_logprobs = 0;
    prompt.logprob_tokens = labels;
    prompt.deadline = deadline;
    if (const auto refusal = add_prompt(context, std::move(prompt), plan)) return *refusal;
  }
  plan.format = std::make_unique<ScoreFormat>(context.config, model, apply_softmax);
  return plan;
}

}  // namespace

void handle_score(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kOpenAi, plan_scores);
}

}  // namespace foretoken
