#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "server/chat/chat_prompt.h"
#include "server/http/error_reply.h"
#include "server/json/json_fields.h"
#include "server/json/json_writer.h"
#include "server/request/prompt_text.h"
#include "server/routes/sglang/api.h"

namespace foretoken {
namespace {

namespace json = boost::json;

void write_tokens(JsonWriter& out, const std::vector<Token>& tokens) {
  out.begin_array();
  for (const Token token : tokens) out.integer(token);
  out.end_array();
}

// Chat: the rendered prompt besides its tokens.
Result<std::string> tokenize_messages(const ServerContext& context, Fields& fields) {
  const auto prompt = render_chat(context, fields);
  if (!prompt) return prompt.refusal();
  const auto tokens = encode_text(context, prompt->text, AddSpecial::kNo);
  if (!tokens) return tokens.refusal();
  JsonWriter out;
  out.begin_object().field("prompt", prompt->text).key("tokens");
  write_tokens(out, *tokens);
  out.field("count", tokens->size());
  out.field("max_model_len", context.config.context_length).end_object();
  return out.take();
}

Result<std::string> tokenize_prompt(const ServerContext& context, Fields& fields) {
  const json::value* given = fields.find("prompt");
  if (given == nullptr) given = fields.find("text");
  if (given == nullptr) return Refusal{"body.prompt: Field required (or messages)"};
  const auto special =
      fields.boolean("add_special_tokens").value_or(true) ? AddSpecial::kYes : AddSpecial::kNo;
  if (!fields.ok()) return *fields.fault();
  const json::array one = given->is_array() ? json::array{} : json::array{*given};
  std::vector<std::vector<Token>> lists;
  for (const json::value& item : given->is_array() ? given->get_array() : one) {
    if (!item.is_string())
      return Refusal{"body.prompt: Input should be a valid string or list of strings"};
    auto tokens = encode_text(context, item.get_string(), special);
    if (!tokens) return tokens.refusal();
    lists.push_back(*std::move(tokens));
  }
  JsonWriter out;
  out.begin_object().key("tokens");
  if (!given->is_array()) {
    write_tokens(out, lists.front());
    out.field("count", lists.front().size());
  } else {
    out.begin_array();
    for (const auto& tokens : lists) write_tokens(out, tokens);
    out.end_array().key("count").begin_array();
    for (const auto& tokens : lists) out.integer(static_cast<std::int64_t>(tokens.size()));
    out.end_array();
  }
  out.field("max_model_len", context.config.context_length).end_object();
  return out.take();
}

std::optional<Refusal> check_ids(const std::vector<Token>& ids, std::int64_t vocab) {
  for (const Token id : ids)
    if (id < 0 || id >= vocab)
      return Refusal{fmt::format(
          "Error decoding tokens: id {} is not in the vocabulary [0, {}). Input tokens might be "
          "invalid for the model.",
          id, vocab)};
  return std::nullopt;
}

Result<std::string> detokenize(const ServerContext& context, Fields& fields) {
  if (context.tokenizer == nullptr)
    return Refusal{"text needs a tokenizer, and this server runs with --skip-tokenizer-init"};
  fields.require("tokens");
  const auto special = fields.boolean("skip_special_tokens").value_or(true) ? SpecialText::kSkip
                                                                            : SpecialText::kKeep;
  const json::array* given = fields.array("tokens");
  if (!fields.ok()) return *fields.fault();
  const bool nested = !given->empty() && given->front().is_array();
  JsonWriter out;
  out.begin_object().key("text");
  const Refusal wrong{
      "body.tokens: Input should be a list of integers or a list of lists of integers"};
  if (!nested) {
    const auto tokens = token_list(*given);
    if (!tokens) return wrong;
    if (const auto refusal = check_ids(*tokens, context.config.vocab)) return *refusal;
    out.string(context.tokenizer->decode(*tokens, special));
  } else {
    out.begin_array();
    for (const json::value& item : *given) {
      const auto tokens = item.is_array() ? token_list(item.get_array()) : std::nullopt;
      if (!tokens) return wrong;
      if (const auto refusal = check_ids(*tokens, context.config.vocab)) return *refusal;
      out.string(context.tokenizer->decode(*tokens, special));
    }
    out.end_array();
  }
  out.end_object();
  return out.take();
}

void answer(const ExchangePtr& exchange, const Result<std::string>& result) {
  if (result)
    exchange->reply({.body = *result});
  else
    exchange->reply(error_reply(ErrorStyle::kOpenAi, result.refusal()));
}

}  // namespace

void handle_tokenize(ServerContext& context, const ExchangePtr& exchange) {
  const auto body = parse_json_object(exchange->request().body);
  if (!body) return answer(exchange, body.refusal());
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  answer(exchange, fields.has("messages") ? tokenize_messages(context, fields)
                                          : tokenize_prompt(context, fields));
}

void handle_detokenize(ServerContext& context, const ExchangePtr& exchange) {
  const auto body = parse_json_object(exchange->request().body);
  if (!body) return answer(exchange, body.refusal());
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  answer(exchange, detokenize(context, fields));
}

}  // namespace foretoken
