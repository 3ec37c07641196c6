// POST /v1/embeddings: the hidden state of a text's last token behind the final norm, or the mean
// of all of its tokens' states, of length 1. As SGLang embeds with generating models (last) and
// llama.cpp with `pooling` (last or mean).
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "server/http/error_reply.h"
#include "server/json/base64.h"
#include "server/request/body_fields.h"
#include "server/request/generate_from_body.h"
#include "server/request/priority.h"
#include "server/request/prompt_plan.h"
#include "server/request/prompt_text.h"
#include "server/routes/openai/api.h"
#include "server/routes/openai/types.h"

namespace foretoken {
namespace {

namespace json = boost::json;

struct Wording {
  std::string model;
  std::size_t dimensions = 0;  // 0: all
  bool is_base64 = false;
};

// The first `dimensions` of a state, at length 1.
HiddenState normalized(HiddenState state, std::size_t dimensions) {
  if (dimensions > 0 && dimensions < state.size()) state.resize(dimensions);
  double squares = 0;
  for (const float value : state) squares += static_cast<double>(value) * value;
  const double length = std::sqrt(squares);
  for (float& value : state) value = length > 0 ? static_cast<float>(value / length) : 0.0F;
  return state;
}

// IEEE 754 floats, lowest byte first.
std::string packed(const HiddenState& state) {
  std::string bytes;
  for (const float value : state)
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<char>(std::bit_cast<std::uint32_t>(value) >> shift & 0xFF));
  return bytes;
}

class EmbeddingFormat final : public AnswerFormat {
 public:
  EmbeddingFormat(const ServerConfig& config, Wording wording)
      : config_(config), wording_(std::move(wording)) {}

  void write_event(const RunningChoice&, std::string&) override {}
  void write_ending(const std::vector<RunningChoice>&, std::string&) override {}

  HttpReply whole(const std::vector<RunningChoice>& choices) override {
    Usage usage;
    JsonWriter out;
    out.begin_object().field("object", "list").key("data").begin_array();
    for (const RunningChoice& choice : choices) {
      const HiddenStates& hidden = choice.choice.hidden();
      if (hidden.all().empty() && hidden.mean().empty())
        return error_reply(ErrorStyle::kOpenAi, {"a part of the request was aborted", 503});
      out.begin_object().field("object", "embedding").field("index", choice.index);
      out.key("embedding");
      write(out, hidden.wish() == HiddenWish::kMean ? hidden.mean() : hidden.all().front());
      out.end_object();
      usage.prompt_tokens += choice.prompt_tokens;
      usage.cached_tokens += choice.choice.counters().cached_tokens;
    }
    out.end_array().field("model", wording_.model).key("usage");
    write_usage(out, usage, config_);
    out.end_object();
    return {.body = out.take()};
  }

 private:
  void write(JsonWriter& out, HiddenState state) const {
    state = normalized(std::move(state), wording_.dimensions);
    if (wording_.is_base64) {
      out.string(base64(packed(state)));
      return;
    }
    out.begin_array();
    for (const float value : state) out.number(value);
    out.end_array();
  }

  const ServerConfig& config_;
  Wording wording_;
};

using Prompts = std::vector<std::vector<Token>>;

// A text, or a list of ids.
Result<std::vector<Token>> read_one(const ServerContext& context, const json::value& value) {
  if (value.is_string()) {
    if (value.get_string().empty()) return Refusal{"body.input: Input cannot be empty"};
    return encode_prompt(context, value.get_string(), AddSpecial::kYes);
  }
  if (value.is_array())
    if (auto tokens = token_list(value.get_array()); tokens && !tokens->empty())
      return *std::move(tokens);
  return Refusal{
      fmt::format("body.input: Input should be a string, a list of strings, a list of integers or "
                  "a list of lists of integers, none of them empty (found {})",
                  json_kind(value))};
}

Result<Prompts> read_input(const ServerContext& context, Fields& fields) {
  fields.require("input");
  if (!fields.ok()) return *fields.fault();
  const json::value& input = *fields.find("input");
  const bool is_list =
      input.is_array() && !input.get_array().empty() && !input.get_array().front().is_number();
  const json::array one{input};
  const json::array& list = is_list ? input.get_array() : one;
  if (const auto refusal = check_batch_size(list.size())) return *refusal;
  Prompts out;
  for (const json::value& item : list) {
    auto tokens = read_one(context, item);
    if (!tokens) return tokens.refusal();
    out.push_back(*std::move(tokens));
  }
  return out;
}

Wording read_wording(Fields& fields, const ServerConfig& config) {
  Wording wording{.model = fields.string("model").value_or(config.served_model_name)};
  const std::string encoding = fields.string("encoding_format").value_or("float");
  if (encoding != "float" && encoding != "base64")
    fields.refuse_field("encoding_format", "expected float or base64");
  wording.is_base64 = encoding == "base64";
  const auto dimensions = fields.integer("dimensions");
  if (dimensions && (*dimensions < 1 || *dimensions > config.hidden_width))
    fields.refuse_field(
        "dimensions", fmt::format("must be in [1, {}], got {}", config.hidden_width, *dimensions));
  wording.dimensions = static_cast<std::size_t>(dimensions.value_or(0));
  return wording;
}

HiddenWish read_pooling(Fields& fields) {
  const std::string pooling = fields.string("pooling").value_or("last");
  if (pooling != "last" && pooling != "mean")
    fields.refuse_field("pooling", "expected last or mean");
  return pooling == "mean" ? HiddenWish::kMean : HiddenWish::kLast;
}

Result<GenerationPlan> plan_embeddings(ServerContext& context, Fields& body) {
  check_known_fields(body, BodyKind::kEmbedding, context.unknown_fields);
  AskedPrompt asked;
  asked.hidden = read_pooling(body);
  asked.max_new_tokens = 1;  // it ends the prompt; nobody reads it
  asked.temperature = 0;
  asked.id = body.string("rid").value_or("");
  check_request_id(body, asked.id);
  if (asked.id.empty()) asked.id = new_request_id();
  asked.cache_salt = read_cache_salt(body);
  asked.deadline = read_deadline(body, context.config);
  asked.rank = read_rank(body, context.config);
  Wording wording = read_wording(body, context.config);
  auto prompts = read_input(context, body);
  if (!prompts) return prompts.refusal();
  if (body.fault()) return *body.fault();
  GenerationPlan plan;
  for (std::vector<Token>& tokens : *prompts) {
    AskedPrompt one = asked;
    one.tokens = std::move(tokens);
    if (prompts->size() > 1) one.number_from = static_cast<int>(plan.choices.size());
    if (const auto refusal = add_prompt(context, std::move(one), plan)) return *refusal;
  }
  plan.format = std::make_unique<EmbeddingFormat>(context.config, std::move(wording));
  return plan;
}

}  // namespace

void handle_embeddings(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kOpenAi, plan_embeddings);
}

}  // namespace foretoken
