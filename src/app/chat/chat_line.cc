#include "app/chat/chat_line.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace foretoken {
namespace {

constexpr std::string_view kFence = "\"\"\"";

enum class Argument { kNone, kOptional, kNeeded, kSwitch };  // kSwitch: on, off or nothing

struct Command {
  std::string_view name;
  ChatVerb verb;
  Argument argument = Argument::kNone;
  std::string_view form = {};  // of the argument, for the help
  std::string_view text = {};  // empty: another name of the command before it
};

constexpr std::array kCommands = {
    Command{"/help", ChatVerb::kHelp, Argument::kNone, "", "this list"},
    Command{"/new", ChatVerb::kNew, Argument::kNone, "", "forget the conversation, begin another"},
    Command{"/retry", ChatVerb::kRetry, Argument::kNone, "", "ask the last message again"},
    Command{"/system", ChatVerb::kSystem, Argument::kOptional, "[TEXT]",
            "show the system prompt, or set it; `none` takes it away"},
    Command{"/set", ChatVerb::kSet, Argument::kOptional, "[NAME VALUE]",
            "show what sampling is told, or set it; `default` leaves it to the server"},
    Command{"/spec", ChatVerb::kSpec, Argument::kSwitch, "[on|off]",
            "whether answers are drafted; their text is the same"},
    Command{"/colour", ChatVerb::kColour, Argument::kSwitch, "[on|off]",
            "colour the tokens that came from accepted drafts"},
    Command{"/save", ChatVerb::kSave, Argument::kNeeded, "FILE",
            "write the conversation as JSON, as the page exports it"},
    Command{"/load", ChatVerb::kLoad, Argument::kNeeded, "FILE",
            "go on with a conversation of such a file"},
    Command{"/quit", ChatVerb::kQuit, Argument::kNone, "", "leave; so does Ctrl-D"},
    Command{"/exit", ChatVerb::kQuit},
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// What stands between the fences; the line ends beside them are theirs.
std::string inside_of_fence(std::string_view text) {
  text.remove_prefix(kFence.size());
  if (text.ends_with(kFence)) text.remove_suffix(kFence.size());
  if (text.starts_with("\r\n")) text.remove_prefix(1);
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return std::string(text);
}

std::optional<Refusal> fault_of(const Command& command, std::string_view argument) {
  switch (command.argument) {
    case Argument::kNone:
      if (argument.empty()) return std::nullopt;
      return Refusal{
          fmt::format("{}: expected nothing behind it, found '{}'", command.name, argument)};
    case Argument::kNeeded:
      if (!argument.empty()) return std::nullopt;
      return Refusal{fmt::format("{}: expected {}, found nothing", command.name, command.form)};
    case Argument::kSwitch:
      if (argument.empty() || argument == "on" || argument == "off") return std::nullopt;
      return Refusal{fmt::format("{}: expected on or off, found '{}'", command.name, argument)};
    case Argument::kOptional:
      break;
  }
  return std::nullopt;
}

Result<ChatLine> parse_command(std::string_view line) {
  const auto end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string_view name = line.substr(0, end), argument = trimmed(line.substr(end));
  const auto* found = std::ranges::find(kCommands, name, &Command::name);
  if (found == kCommands.end())
    return Refusal{fmt::format(
        "unknown command '{}': /help lists them; a message that begins with a slash begins with //",
        name)};
  if (auto fault = fault_of(*found, argument)) return *std::move(fault);
  return ChatLine{found->verb, std::string(argument)};
}

}  // namespace

bool is_complete_input(std::string_view text) {
  const std::string_view seen = trimmed(text);
  if (!seen.starts_with(kFence)) return true;
  return seen.size() >= 2 * kFence.size() && seen.ends_with(kFence);
}

Result<ChatLine> parse_chat_line(std::string_view line) {
  const std::string_view seen = trimmed(line);
  if (seen.starts_with(kFence)) {
    std::string text = inside_of_fence(seen);
    if (trimmed(text).empty()) return ChatLine{};
    return ChatLine{ChatVerb::kSay, std::move(text)};
  }
  if (seen.empty()) return ChatLine{};
  if (!seen.starts_with('/')) return ChatLine{ChatVerb::kSay, std::string(seen)};
  if (seen.starts_with("//")) return ChatLine{ChatVerb::kSay, std::string(seen.substr(1))};
  return parse_command(seen);
}

std::string chat_help() {
  std::string text;
  for (const Command& command : kCommands)
    if (!command.text.empty())
      text += fmt::format("  {:<22}{}\n", fmt::format("{} {}", command.name, command.form),
                          command.text);
  text +=
      "  Alt+Enter, or \\ before Enter, begins a new line; so does Enter between two \"\"\".\n"
      "  Up and Ctrl-R find earlier messages; Ctrl-C stops an answer.\n";
  return text;
}

std::string completed_lines(const std::vector<std::string_view>& names) {
  std::vector<std::string> lines;
  for (const Command& command : kCommands) {
    const std::string name(command.name);
    if (command.verb == ChatVerb::kSet)
      for (const auto each : names) lines.push_back(name + " " + std::string(each));
    else if (command.argument == Argument::kSwitch)
      lines.insert(lines.end(), {name + " off", name + " on"});
    else
      lines.push_back(name);
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace foretoken
