#include "bench/prompt_file.h"

#include <fstream>

#include <boost/json/parse.hpp>

#include "base/error.h"

namespace foretoken {
namespace {

BenchPrompt parse_line(const std::string& line, const std::string& where) {
  boost::json::error_code fault;
  const auto value = boost::json::parse(line, fault);
  if (fault) throw Error({"bad line of prompts", where, "a JSON object", fault.message()});
  const auto* object = value.if_object();
  const auto* turns = object == nullptr ? nullptr : object->if_contains("turns");
  if (turns == nullptr || !turns->is_array() || turns->get_array().empty())
    throw Error({"bad line of prompts", where, "{\"turns\": [\"...\"]}", line.substr(0, 60)});
  BenchPrompt prompt;
  for (const auto& turn : turns->get_array()) {
    if (!turn.is_string() || turn.get_string().empty())
      throw Error({"bad line of prompts", where, "turns that are texts", {}});
    prompt.turns.emplace_back(turn.get_string());
  }
  const auto* category = object->if_contains("category");
  if (category != nullptr && category->is_string())
    prompt.category = std::string(category->get_string());
  return prompt;
}

}  // namespace

std::vector<BenchPrompt> read_prompts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error({"cannot open file", path, "prompts, one JSON object per line", {}});
  std::vector<BenchPrompt> prompts;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number)
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      prompts.push_back(parse_line(line, path + ", line " + std::to_string(number)));
  if (prompts.empty()) throw Error({"no prompts", path, "at least one line", "none"});
  return prompts;
}

}  // namespace foretoken
