#include <csignal>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <random>
#include <string>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "app/chat/chat_session.h"
#include "app/commands/commands.h"
#include "app/commands/served_model.h"
#include "app/host/check_start.h"
#include "base/log.h"

namespace foretoken {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1";

// Others on this machine may reach the port, too.
std::string random_key() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string checked_key(std::string key, std::string_view from) {
  // It goes into a header, which line breaks would end.
  if (std::ranges::any_of(key, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    throw UsageError(fmt::format("{}: expected a key of one line", from));
  return key;
}

// The options of a server for this chat alone, unless the flags make it more.
Options own_server(const FlagValues& values, const Environment& environment) {
  Options options = resolve_checked_options(values, environment);
  if (!values.given("--host")) options.server.host = kLoopback;
  if (!values.given("--port")) options.server.port = 0;
  if (!values.given("--api-key")) options.server.api_key = random_key();
  if (!values.given("--log-level")) options.log_level = LogLevel::kWarning;
  options.server.handle_signals = false;  // Ctrl-C is for answers
  options.server.serves_page = false;
  if (!values.given("--port") && !values.given("--max-running-requests"))
    options.engine.max_running_requests = 1;
  return options;
}

ChatSettings settings_of(const FlagValues& values, const Environment& environment) {
  ChatSettings settings;
  settings.system = values.text("--system");
  for (const std::string& assignment : values.list("--set"))
    if (const auto refusal = settings.sampling.set(assignment))
      throw UsageError("--set: " + refusal->message);
  settings.is_interactive = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
  settings.is_terminal = isatty(STDOUT_FILENO) != 0;
  settings.style.is_on = settings.is_terminal && environment.wants_colour;
  settings.note_style.is_on = isatty(STDERR_FILENO) != 0 && environment.wants_colour;
  return settings;
}

int chat_with(ChatClient& client, ChatSettings settings, const std::string& history) {
  auto model = client.model_name();
  if (!model) throw Error(model.refusal().message);
  settings.model = *std::move(model);
  const bool is_interactive = settings.is_interactive && settings.is_terminal;
  settings.is_interactive = is_interactive;
  if (is_interactive)
    std::fprintf(stderr, "%s\n",
                 settings.note_style
                     .faint(harmless(settings.model) +
                            ": /help lists commands, Ctrl-C stops an answer, Ctrl-D leaves.")
                     .c_str());
  const auto input = is_interactive
                         ? edited_input(history, completed_lines(SamplingSettings::names()),
                                        settings.note_style.is_on)
                         : plain_input(stdin);
  return ChatSession(client, *input, std::move(settings)).run();
}

int chat_with_server(const FlagValues& values, const Environment& environment,
                     const std::string& history) {
  if (values.given("--model-path"))
    throw UsageError("--url and --model-path exclude each other: the server has its model");
  std::string key = environment.chat_key;
  std::string_view from = "FORETOKEN_API_KEY";
  if (values.given("--api-key")) {
    key = values.text("--api-key");
    from = "--api-key";
  }
  ChatClient client(server_url(values.text("--url")), checked_key(key, from),
                    environment.hub.authorities);
  return chat_with(client, settings_of(values, environment), history);
}

int chat_with_model(const FlagValues& values, const Environment& environment,
                    const std::string& history) {
  const auto start = ServedModel::Clock::now();
  const ChatSettings settings = settings_of(values, environment);
  const Options options = own_server(values, environment);
  set_log_level(options.log_level);
  for (const auto& warning : options.warnings) log_warning("{}", warning);
  for (const auto& note : options.notes) log_info("{}", note);
  if (settings.is_interactive)
    std::fprintf(stderr, "%s\n",
                 settings.note_style.faint(fmt::format("Loading {} ...", options.load.model_folder))
                     .c_str());
  ServedModel model(options, start);
  model.load();
  // A wildcard address is reached by the loopback, too.
  const bool is_reached = options.server.host == "0.0.0.0" || options.server.host == "::";
  const std::string host = is_reached ? std::string(kLoopback) : options.server.host;
  const bool is_v6 = host.find(':') != std::string::npos;
  ChatClient client(
      fmt::format("http://{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", model.port()),
      checked_key(options.server.api_key, "--api-key"));
  const int code = chat_with(client, settings, history);
  model.stop();
  model.run();
  return code;
}

}  // namespace

int chat(std::span<const std::string> args) {
  std::signal(SIGPIPE, SIG_IGN);  // a server or a reader that leaves is a fault that is told
  const FlagValues values = parse_flags(args, chat_flags());
  const Environment environment = Environment::from_process();
  std::string history = values.text("--history-file");
  if (!values.given("--history-file"))
    history = environment.state.empty() ? "" : environment.state + "/chat_history";
  return values.given("--url") ? chat_with_server(values, environment, history)
                               : chat_with_model(values, environment, history);
}

}  // namespace foretoken
