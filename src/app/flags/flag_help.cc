#include "app/flags/flag_help.h"

#include <fmt/format.h>

namespace foretoken {
namespace {

constexpr std::size_t kHelpColumn = 34;
constexpr std::size_t kWidth = 100;
constexpr std::size_t kMostChoices = 4;  // beside the name; more follow the text

// Breaks `text` at spaces; the first line begins at column `start`, the others at `indent`.
std::string wrap(std::string_view text, std::size_t start, std::size_t indent) {
  std::string out;
  std::size_t column = start;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    const bool first = out.empty();
    if (!first && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
  }
  return out;
}

std::string supported_line(const Flag& flag) {
  std::string line =
      "  " + fmt::format("{}", fmt::join(flag.names, ", ")) + value_text(flag, kMostChoices);
  std::string text(flag.text);
  if (flag.choices.size() > kMostChoices)
    text += fmt::format(": {}", fmt::join(flag.choices, ", "));
  if (!flag.default_note.empty())
    text += fmt::format(" (default: {})", flag.default_note);
  else if (!flag.default_value.empty())
    text += fmt::format(" (default: {})", flag.default_value);
  line += line.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - line.size(), ' ');
  return line + wrap(text, kHelpColumn, kHelpColumn) + "\n";
}

std::string names_with(const FlagTable& table, Support support) {
  std::string names;
  for (const auto& group : table)
    for (const auto& flag : group.flags)
      if (flag.support == support) names += (names.empty() ? "" : " ") + std::string(flag.name());
  return names.empty() ? names : "  " + wrap(names, 2, 2) + "\n";
}

}  // namespace

std::string value_text(const Flag& flag, std::size_t most_choices) {
  if (!flag.choices.empty() && flag.choices.size() <= most_choices)
    return fmt::format(" {}", fmt::join(flag.choices, "|"));
  switch (flag.kind) {
    case FlagKind::kSwitch:
      return "";
    case FlagKind::kInteger:
      return " N";
    case FlagKind::kNumber:
      return " X";
    case FlagKind::kIntegerList:
      return " N...";
    case FlagKind::kTextList:
      return " TEXT...";
    case FlagKind::kText:
      break;
  }
  return " TEXT";
}

std::string help_text(const FlagTable& table) {
  std::string text;
  for (const auto& group : table) {
    std::string lines;
    for (const auto& flag : group.flags)
      if (flag.support == Support::kYes) lines += supported_line(flag);
    if (!lines.empty()) text += fmt::format("\n{}:\n{}", group.title, lines);
  }
  if (const auto names = names_with(table, Support::kNoEffect); !names.empty())
    text += "\nAccepted without effect (the log says why):\n" + names;
  if (const auto names = names_with(table, Support::kRefused); !names.empty())
    text += "\nSGLang's, refused with the reason unless they ask for the default:\n" + names;
  return text;
}

}  // namespace foretoken
