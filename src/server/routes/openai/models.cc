#include <ctime>

#include "server/json/json_writer.h"
#include "server/routes/openai/api.h"

namespace foretoken {
namespace {

void write_card(JsonWriter& json, const ServerConfig& config) {
  json.begin_object();
  json.field("id", config.served_model_name).field("object", "model");
  json.field("created", static_cast<std::int64_t>(std::time(nullptr)));
  json.field("owned_by", "sglang").field("root", config.served_model_name);
  json.field_null("parent").field("max_model_len", config.context_length);
  json.end_object();
}

}  // namespace

void handle_models(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  JsonWriter json;
  json.begin_object().field("object", "list").key("data").begin_array();
  write_card(json, context.config);
  json.end_array().end_object();
  exchange->reply({.body = json.take()});
}

void handle_model(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  const std::string name = exchange->request().path.substr(std::string_view("/v1/models/").size());
  JsonWriter json;
  if (name == context.config.served_model_name) {
    write_card(json, context.config);
    return exchange->reply({.body = json.take()});
  }
  json.begin_object().key("error").begin_object();
  json.field("message", "The model '" + name + "' does not exist");
  json.field("type", "invalid_request_error").field("param", "model");
  json.field("code", "model_not_found").end_object().end_object();
  exchange->reply({.status = 404, .body = json.take()});
}

}  // namespace foretoken
