#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "server/json/json_fields.h"
#include "server/json/json_writer.h"
#include "server/request/corpus_text.h"
#include "server/routes/sglang/api.h"

namespace foretoken {
namespace {

constexpr const char* kNoCorpora =
    "External corpora need --speculative-algorithm NGRAM and "
    "--speculative-ngram-external-sam-budget above 0.";

// Texts, or token ids, or a file beside the server: one of them.
Result<std::vector<Token>> read_corpus(ServerContext& context, Fields& body) {
  const auto path = body.string("file_path");
  const auto* documents = body.array("documents");
  const auto* chunks = body.array("token_chunks");
  if (body.fault()) return *body.fault();
  if ((path ? 1 : 0) + (documents != nullptr ? 1 : 0) + (chunks != nullptr ? 1 : 0) != 1)
    return Refusal{"Exactly one of file_path, documents and token_chunks must be given."};
  const std::int64_t room = context.config.corpora->room();
  if (chunks != nullptr) {
    std::vector<Token> all;
    for (const auto& chunk : *chunks) {
      const auto tokens = chunk.is_array() ? token_list(chunk.get_array()) : std::nullopt;
      if (!tokens) return Refusal{"body.token_chunks: Input should be a list of lists of integers"};
      for (const Token token : *tokens)
        if (token < 0 || token >= context.config.vocab)
          return Refusal{fmt::format("body.token_chunks: id {} is not in the vocabulary [0, {}).",
                                     token, context.config.vocab)};
      if (tokens->empty()) continue;
      all.insert(all.end(), tokens->begin(), tokens->end());
      all.push_back(kDocumentEnd);
    }
    return all;
  }
  if (context.tokenizer == nullptr)
    return Refusal{"This server has no tokenizer (--skip-tokenizer-init): give token_chunks."};
  if (path)
    return read_corpus_file(*path, *context.tokenizer, context.config.vocab, room,
                            &context.draining);
  CorpusText text(*context.tokenizer, context.config.vocab, room, &context.draining);
  for (std::size_t i = 0; i < documents->size(); ++i) {
    const auto& document = (*documents)[i];
    const std::string where = fmt::format("body.documents.{}", i);
    if (!document.is_string()) return Refusal{where + ": Input should be a valid string"};
    if (const auto refusal = text.add(document.get_string(), where)) return *refusal;
  }
  return text.take();
}

void reply(const ExchangePtr& exchange, JsonWriter& json, bool success) {
  json.end_object();
  exchange->reply({.status = success ? 200 : 400, .body = json.take()});
}

void reply(const ExchangePtr& exchange, const std::string& fault, const std::string& done) {
  JsonWriter json;
  json.begin_object();
  json.field("success", fault.empty()).field("message", fault.empty() ? done : fault);
  reply(exchange, json, fault.empty());
}

}  // namespace

void handle_add_corpus(ServerContext& context, const ExchangePtr& exchange) {
  if (!context.config.corpora) return reply(exchange, kNoCorpora, "");
  const auto object = parse_json_object(exchange->request().body);
  if (!object) return reply(exchange, object.refusal().message, "");
  std::optional<Refusal> fault;
  Fields body(*object, "body", fault);
  std::string name = body.string("corpus_id").value_or("");
  if (name.empty()) name = new_request_id();
  if (const auto refusal = context.config.corpora->refusal_of(name))
    return reply(exchange, refusal->message, "");
  auto tokens = read_corpus(context, body);
  if (fault) return reply(exchange, fault->message, "");
  if (!tokens) return reply(exchange, tokens.refusal().message, "");
  const auto loaded = context.config.corpora->add(name, *std::move(tokens), &context.draining);
  if (!loaded) return reply(exchange, loaded.refusal().message, "");
  JsonWriter json;
  json.begin_object();
  json.field("success", true).field("corpus_id", name).field("message", "");
  json.field("loaded_token_count", *loaded);
  reply(exchange, json, true);
}

void handle_remove_corpus(ServerContext& context, const ExchangePtr& exchange) {
  if (!context.config.corpora) return reply(exchange, kNoCorpora, "");
  const auto object = parse_json_object(exchange->request().body);
  if (!object) return reply(exchange, object.refusal().message, "");
  std::optional<Refusal> fault;
  Fields body(*object, "body", fault);
  const std::string name = body.string("corpus_id").value_or("");
  if (fault) return reply(exchange, fault->message, "");
  if (name.empty()) return reply(exchange, "corpus_id is required.", "");
  const auto refusal = context.config.corpora->remove(name);
  reply(exchange, refusal ? refusal->message : "", fmt::format("Removed corpus '{}'.", name));
}

void handle_list_corpora(ServerContext& context, const ExchangePtr& exchange) {
  if (!context.config.corpora) return reply(exchange, kNoCorpora, "");
  JsonWriter json;
  json.begin_object();
  json.field("success", true).key("corpus_token_counts").begin_object();
  for (const auto& [name, tokens] : context.config.corpora->token_counts())
    json.field(name, tokens);
  json.end_object().field("message", "");
  reply(exchange, json, true);
}

}  // namespace foretoken
