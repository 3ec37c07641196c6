#include "server/request/answer_format.h"

namespace foretoken {

RunningChoice::RunningChoice(const Request& request, Choice output)
    : id(request.id),
      prompt_tokens(static_cast<std::int64_t>(request.prompt.size())),
      sampling(request.sampling),
      choice(std::move(output)) {}

void write_prompt_ids(JsonWriter& json, const RunningChoice& choice) {
  if (!choice.shown_prompt) return;
  json.key("prompt_token_ids").begin_array();
  for (const Token token : *choice.shown_prompt) json.integer(token);
  json.end_array();
}

void append_event(std::string& out, std::string_view json) {
  out += "data: ";
  out += json;
  out += "\n\n";
}

void append_named_event(std::string& out, std::string_view name, std::string_view json) {
  out += "event: ";
  out += name;
  out += '\n';
  append_event(out, json);
}

}  // namespace foretoken
