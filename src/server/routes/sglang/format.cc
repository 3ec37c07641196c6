#include "server/routes/sglang/format.h"

namespace foretoken {

void NativeFormat::write_choice(JsonWriter& json, const RunningChoice& choice) const {
  const bool deltas = context_.config.incremental_streaming_output;
  json.begin_object();
  if (context_.tokenizer != nullptr) {
    const std::string_view text = choice.choice.text();
    json.field("text", deltas ? text.substr(choice.shown_text) : text);
  }
  json.key("output_ids").begin_array();
  const auto& tokens = choice.choice.tokens();
  for (std::size_t i = deltas ? choice.shown_tokens : 0; i < tokens.size(); ++i)
    json.integer(tokens[i].token);
  json.end_array();
  write_prompt_ids(json, choice);
  json.key("meta_info");
  meta_.write(json, choice);
  if (options_.is_list) json.field("index", choice.index);
  json.end_object();
}

void NativeFormat::write_event(const RunningChoice& choice, std::string& out) {
  JsonWriter json;
  write_choice(json, choice);
  append_event(out, json.text());
}

void NativeFormat::write_ending(const std::vector<RunningChoice>&, std::string&) {}

HttpReply NativeFormat::whole(const std::vector<RunningChoice>& choices) {
  JsonWriter json;
  if (!options_.is_list) {
    write_choice(json, choices.front());
    return {.body = json.take()};
  }
  json.begin_array();
  for (const RunningChoice& choice : choices) write_choice(json, choice);
  json.end_array();
  return {.body = json.take()};
}

}  // namespace foretoken
