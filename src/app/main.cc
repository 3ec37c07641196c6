// The program: picks the subcommand and turns what it throws into one sentence and an exit code:
// 2 for a wrong command line, 1 for anything else that keeps it from starting.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "app/flags/command_help.h"
#include "app/flags/flag_help.h"
#include "app/flags/flag_page.h"
#include "app/flags/flag_parser.h"
#include "app/machine/standard_streams.h"
#include "app/version.h"
#include "base/error.h"
#include "base/heap.h"

namespace foretoken {
namespace {

struct Command {
  std::string_view name;
  std::string_view synopsis;
  std::string_view text;
  int (*run)(std::span<const std::string>);
  FlagTable (*flags)();
};

constexpr Command kCommands[] = {
    {"serve", "foretoken serve [--model DIR] [flags]",
     "Loads a model and answers OpenAI's and SGLang's HTTP interfaces until SIGTERM or Ctrl-C.",
     serve, serve_flags},
    {"chat", "foretoken chat [--url URL | --model DIR] [flags]",
     "Chats in the terminal with a server, or with a model that it loads for itself.", chat,
     chat_flags},
    {"generate", "foretoken generate [--model DIR] --prompt TEXT [flags]",
     "Continues one prompt on standard output.", generate, generate_flags},
    {"tune", "foretoken tune [--model DIR] --speculative-algorithm NAME [flags]",
     "Records texts and drafts once, replays every way to draft from them, and says which is "
     "fastest.",
     tune, tune_flags},
    {"tokenize", "foretoken tokenize [--model DIR] [flags]",
     "Reads JSON lines ({\"text\": ...} or {\"messages\": [...]}), prints prompts and token ids.",
     tokenize, tokenize_flags},
    {"inspect", "foretoken inspect MODEL [flags]",
     "Says what a checkpoint folder or GGUF file holds, and whether it is served; loads nothing.",
     inspect, inspect_flags},
    {"pull", "foretoken pull OWNER/NAME[:QUANT]... [flags]",
     "Downloads what is missing of models of the hub, or of one file (OWNER/NAME/FILE).",
     pull_models, pull_flags},
    {"list", "foretoken list [flags]", "Lists the models of the hub that this machine holds.",
     list_models, list_flags},
    {"devices", "foretoken devices [--json]",
     "Lists the devices that --device vulkan can take, and what each is good for.", list_devices,
     devices_flags},
    {"rm", "foretoken rm OWNER/NAME[:QUANT]... [flags]",
     "Removes models of the hub from this machine.", remove_models, rm_flags},
};

int print_help() {
  std::printf("foretoken %s: a server for large language models\n\n", version_text());
  for (const auto& command : kCommands)
    std::printf("  %s\n      %s\n", command.synopsis.data(), command.text.data());
  std::printf("\n`foretoken <command> --help` lists the flags of a command.\n");
  return 0;
}

std::vector<CommandHelp> helps() {
  std::vector<CommandHelp> helps;
  for (const auto& command : kCommands)
    helps.push_back({command.name, command.synopsis, command.text, command.flags()});
  return helps;
}

// What the build asks for, to be installed beside the program. False: it is something else.
bool prints_for_others(const std::vector<std::string>& words) {
  if (words.size() < 2 || words.front() != "help") return false;
  if (words[1] == "--markdown" && words.size() == 2)
    std::fputs(flag_page().c_str(), stdout);
  else if (words[1] == "--man" && words.size() == 2)
    std::fputs(man_page_of(helps(), version_text()).c_str(), stdout);
  else if (words[1] == "--completions" && words.size() <= 3)
    std::fputs(completions_of(words.size() == 3 ? words[2] : "", helps()).c_str(), stdout);
  else
    return false;
  return true;
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h"; }

int print_version() {
  std::printf("foretoken %s\n", version_text());
  return 0;
}

int run_command(const Command& command, const std::vector<std::string>& args) {
  for (const auto& arg : args) {
    if (arg == "--version") return print_version();
    if (!asks_for_help(arg)) continue;
    std::printf("%s\n%s\nAny unambiguous prefix of a flag works; --flag=value too.\n%s",
                command.synopsis.data(), command.text.data(), help_text(command.flags()).c_str());
    return 0;
  }
  return command.run(args);
}

int run_words(const std::vector<std::string>& words) {
  if (prints_for_others(words)) return 0;
  if (words.size() == 2 && words.front() == "help") return run_words({words.back(), "--help"});
  if (words.empty() || asks_for_help(words.front()) || words.front() == "help") return print_help();
  if (words.front() == "--version") return print_version();
  for (const auto& command : kCommands)
    if (command.name == words.front())
      return run_command(command, {words.begin() + 1, words.end()});
  std::string names;
  for (const auto& command : kCommands)
    names += (names.empty() ? "" : ", ") + std::string(command.name);
  throw UsageError("unknown command '" + words.front() + "': expected one of " + names +
                   " (see foretoken --help)");
}

// What was printed and is lost makes a failure of what succeeded.
int run(const std::vector<std::string>& words) {
  const int code = run_words(words);
  if (const std::string fault = output_fault(); code == 0 && !fault.empty())
    throw Error("cannot write to standard output: " + fault);
  return code;
}

// The exit code.
int tell(const std::exception& fault) {
  std::fprintf(stderr, "foretoken: %s\n", fault.what());
  return dynamic_cast<const UsageError*>(&fault) != nullptr ? 2 : 1;
}

}  // namespace

void end_program(const std::exception& fault) {
  const int code = tell(fault);
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace foretoken

int main(int argc, char** argv) {
  foretoken::open_closed_streams();
  foretoken::limit_kept_heap();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a write that fails
  try {
    return foretoken::run({argv + 1, argv + argc});
  } catch (const std::exception& fault) {
    return foretoken::tell(fault);
  }
}
