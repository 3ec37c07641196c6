#pragma once
// For tests of parsers: an answer read in pieces, and what came of it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "text/dialogue/dialogue.h"

namespace foretoken {

struct ReadAnswer {
  std::string reasoning = {}, content = {};
  std::vector<std::pair<std::string, std::string>> calls = {};  // names, arguments
  std::vector<std::string> ids = {};

  bool operator==(const ReadAnswer&) const = default;
};

inline ReadAnswer joined(const AnswerParts& parts) {
  ReadAnswer out;
  for (const AnswerPart& part : parts.list()) {
    if (part.kind == AnswerPart::Kind::kReasoning) out.reasoning += part.text;
    if (part.kind == AnswerPart::Kind::kText) out.content += part.text;
    if (part.kind != AnswerPart::Kind::kCall) continue;
    out.calls.emplace_back(part.name, part.text);
    out.ids.push_back(part.id);
  }
  return out;
}

inline ReadAnswer read_answer(const Dialogue& dialogue, const std::vector<std::string_view>& pieces,
                              Ending ending = Ending::kComplete) {
  const auto parser = make_answer_parser(dialogue);
  AnswerParts parts;
  for (const std::string_view piece : pieces) parser->push(piece, parts);
  parser->finish(ending, parts);
  return joined(parts);
}

inline std::vector<std::string_view> pieces_of(std::string_view text, std::size_t size) {
  std::vector<std::string_view> out;
  for (; text.size() > size; text.remove_prefix(size)) out.push_back(text.substr(0, size));
  out.push_back(text);
  return out;
}

// Tools by name, without parameters but those of `parameters` (JSON objects of properties).
inline std::shared_ptr<const ToolSchemas> tools_named(
    const std::vector<std::pair<std::string, std::string>>& tools) {
  boost::json::array list;
  for (const auto& [name, properties] : tools)
    list.push_back(boost::json::value{
        {"type", "function"},
        {"function",
         {{"name", name},
          {"parameters",
           {{"type", "object"},
            {"properties", boost::json::parse(properties.empty() ? "{}" : properties)}}}}}});
  return std::make_shared<const ToolSchemas>(list);
}

}  // namespace foretoken
