#include "text/tokenize_lines.h"

#include <istream>
#include <ostream>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/json_text.h"

namespace foretoken {
namespace {

namespace json = boost::json;

std::string error_line(std::string_view message) {
  return json::serialize(
      json::object{{"error", json::string_view(message.data(), message.size())}});
}

struct Prompt {
  std::string text;
  AddSpecial special = AddSpecial::kYes;
};

Result<Prompt> prompt_of(std::string_view line, const ChatTemplate* chat_template) {
  JsonFault fault;
  const auto value = parse_json(line, fault);
  if (!value) return Refusal{"the line is not valid JSON: " + fault.reason};
  if (!value->is_object()) return Refusal{"the line must hold a JSON object"};
  const json::object& object = value->get_object();
  if (object.contains("messages")) {
    if (chat_template == nullptr)
      return Refusal{"the model has no chat template: name one with --chat-template"};
    auto rendered = chat_template->render(line, MessageForm::kOpenAi);
    if (!rendered) return rendered.refusal();
    return Prompt{std::move(*rendered), AddSpecial::kNo};
  }
  const json::value* text = object.if_contains("text");
  if (text == nullptr) return Refusal{"the line needs \"text\" or \"messages\""};
  if (!text->is_string()) return Refusal{"\"text\" must be a string"};
  return Prompt{std::string(text->as_string())};
}

}  // namespace

std::string tokenize_line(std::string_view line, const Tokenizer& tokenizer,
                          const ChatTemplate* chat_template) {
  const auto prompt = prompt_of(line, chat_template);
  if (!prompt) return error_line(prompt.refusal().message);
  const auto tokens = tokenizer.encode(prompt->text, prompt->special);
  if (!tokens) return error_line(tokens.refusal().message);
  json::object answer;
  answer["prompt"] = prompt->text;
  answer["tokens"] = json::array(tokens->begin(), tokens->end());
  return json::serialize(answer);
}

void tokenize_lines(std::istream& in, std::ostream& out, const Tokenizer& tokenizer,
                    const ChatTemplate* chat_template) {
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    out << tokenize_line(line, tokenizer, chat_template) << '\n';
  }
}

}  // namespace foretoken
