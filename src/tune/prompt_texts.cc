#include "tune/prompt_texts.h"

#include <array>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"

namespace foretoken {
namespace {

constexpr const char* kExpected =
    "\"turns\", \"conversations\", \"messages\", \"prompt\", \"text\", or a string";

[[noreturn]] void refuse(const std::string& where, const std::string& found) {
  throw Error({.what = "bad prompt", .where = where, .expected = kExpected, .found = found});
}

std::string text_in(const boost::json::value* value, const std::string& where) {
  const auto* text = value == nullptr ? nullptr : value->if_string();
  if (text == nullptr || text->empty()) refuse(where, "no text where one should be");
  return std::string(*text);
}

// What the user says in a list of messages. Others are passed over, the assistant's answers among
// them: the target gives its own.
std::vector<std::string> turns_of(const boost::json::value& list, const char* role,
                                  const char* content, const std::string& where) {
  if (!list.is_array()) refuse(where, "no list of messages");
  std::vector<std::string> turns;
  for (const auto& message : list.get_array()) {
    const auto* object = message.if_object();
    if (object == nullptr) refuse(where, "a message that is no object");
    const std::string who = text_in(object->if_contains(role), where);
    if (who != "user" && who != "human") continue;
    const auto* said = object->if_contains(content);
    // ShareGPT's has empty ones.
    if (said != nullptr && said->is_string() && said->get_string().empty()) continue;
    turns.push_back(text_in(said, where));
  }
  return turns;
}

// Nullopt: nobody asks for anything in it.
std::optional<PromptText> prompt_of(const boost::json::value& value, const std::string& where) {
  PromptText prompt;
  if (value.is_string()) {
    prompt.turns.push_back(text_in(&value, where));
    return prompt;
  }
  const auto* object = value.if_object();
  if (object == nullptr) refuse(where, std::string(json_kind(value)));
  for (const char* key : {"category", "task"})
    if (const auto* category = object->if_contains(key); category != nullptr)
      if (category->is_string()) prompt.category = std::string(category->get_string());
  if (const auto* turns = object->if_contains("turns"); turns != nullptr) {
    if (!turns->is_array()) refuse(where, "turns that are no list");
    for (const auto& turn : turns->get_array()) prompt.turns.push_back(text_in(&turn, where));
  } else if (const auto* talk = object->if_contains("conversations"); talk != nullptr) {
    prompt.turns = turns_of(*talk, "from", "value", where);
  } else if (const auto* messages = object->if_contains("messages"); messages != nullptr) {
    prompt.turns = turns_of(*messages, "role", "content", where);
  } else if (const auto* text = object->if_contains("prompt"); text != nullptr) {
    prompt.turns.push_back(text_in(text, where));
  } else {
    prompt.turns.push_back(text_in(object->if_contains("text"), where));
  }
  if (prompt.turns.empty()) return std::nullopt;
  return prompt;
}

}  // namespace

std::vector<PromptText> parse_prompt_texts(std::string_view text, const std::string& where) {
  std::vector<PromptText> prompts;
  const auto add = [&](const boost::json::value& value, const std::string& place) {
    if (auto prompt = prompt_of(value, place)) prompts.push_back(std::move(*prompt));
  };
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '[') {
    const boost::json::value all = read_json(text, where);
    int number = 0;
    for (const auto& value : all.get_array())
      add(value, where + ", element " + std::to_string(++number));
  } else {
    int number = 0;
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const std::string place = where + ", line " + std::to_string(++number);
      if (line.find_first_not_of(" \t\r") != std::string_view::npos)
        add(read_json(line, place), place);
    }
  }
  if (prompts.empty())
    throw Error({.what = "no prompts", .where = where, .expected = kExpected, .found = "none"});
  return prompts;
}

std::vector<PromptText> read_prompt_texts(const std::string& path) {
  const auto text = read_file(path);
  if (!text) throw Error({.what = "there are no prompts", .where = path});
  return parse_prompt_texts(*text, path);
}

std::vector<PromptText> usual_prompt_texts() {
  constexpr std::array<std::pair<const char*, const char*>, 24> kPrompts{{
      {"writing", "Write a short story about a lighthouse keeper."},
      {"writing", "Write an email asking a colleague for help with a report."},
      {"writing", "Describe a busy market in the morning."},
      {"roleplay", "You are a tour guide in Rome. Welcome your group."},
      {"roleplay", "Pretend to be a chef and explain your favourite dish."},
      {"roleplay", "You are a teacher. Explain why the sky is blue to a child."},
      {"reasoning", "If all cats are animals and some animals sleep, do all cats sleep?"},
      {"reasoning", "Anna is older than Ben, and Ben is older than Carl. Who is the youngest?"},
      {"reasoning", "What comes next: 2, 4, 8, 16?"},
      {"math", "What is 17 times 23? Show the steps."},
      {"math", "A train travels 120 km in 2 hours. What is its average speed?"},
      {"math", "Solve for x: 3x + 7 = 22."},
      {"coding", "Write a Python function that reverses a string."},
      {"coding", "Write a SQL query that counts the orders of each customer."},
      {"coding", "Explain what a hash table is and give an example in C++."},
      {"extraction", "List the names and ages in: Tom is 12, Eva is 31 and Max is 55."},
      {"extraction", "Give the date and place as JSON: We met in Oslo on 3 May 2021."},
      {"extraction", "Which colours occur here: a red car, a blue house, a green tree?"},
      {"stem", "What is photosynthesis?"},
      {"stem", "Explain how a battery works."},
      {"stem", "Why do seasons change?"},
      {"humanities", "Who was Marie Curie?"},
      {"humanities", "What was the Silk Road?"},
      {"humanities", "Explain the difference between a republic and a monarchy."},
  }};
  std::vector<PromptText> prompts;
  for (const auto& [category, text] : kPrompts) prompts.push_back({category, {text}});
  return prompts;
}

}  // namespace foretoken
