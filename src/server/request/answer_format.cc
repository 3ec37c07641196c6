#include "server/request/answer_format.h"

namespace foretoken {

RunningChoice::RunningChoice(const Request& request, Choice output)
    : id(request.id),
      prompt_tokens(static_cast<std::int64_t>(request.prompt.size())),
      sampling(request.sampling),
      choice(std::move(output)) {}

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
