#include "app/chat/chat_session.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "app/chat/answer_delta.h"
#include "app/chat/answer_printer.h"
#include "base/file.h"

namespace foretoken {
namespace {

std::int64_t milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ChatSession::ChatSession(ChatClient& client, LineInput& input, ChatSettings settings)
    : client_(client), input_(input), settings_(std::move(settings)) {
  conversation_.system = settings_.system;
  if (settings_.is_interactive) interrupts_.emplace();
}

int ChatSession::run() {
  using Kind = LineInput::Kind;
  for (bool goes_on = true; goes_on;) {
    const auto [kind, text] = input_.read();
    if (interrupts_) interrupts_->forget();  // it was for the answer before
    if (kind == Kind::kEnd) break;
    if (kind == Kind::kInterrupted) {
      note("Ctrl-D or /quit leaves.");
      continue;
    }
    if (kind == Kind::kUnreadable) {
      goes_on = fault("what was typed is not UTF-8");
      continue;
    }
    const auto line = parse_chat_line(text);
    goes_on = line ? carry_out(*line) : fault(line.refusal().message);
    if (std::ferror(stdout) != 0) break;  // nobody reads any more; the program tells why
  }
  return has_failed_ ? 1 : 0;
}

void ChatSession::note(const std::string& text) const {
  std::fprintf(stderr, "%s\n", settings_.note_style.faint(text).c_str());
}

bool ChatSession::fault(const std::string& text) {
  const std::string shown = harmless(text);
  if (settings_.is_interactive)
    std::fprintf(stderr, "%s\n", settings_.note_style.fault(shown).c_str());
  else
    std::fprintf(stderr, "foretoken: %s\n", shown.c_str());
  has_failed_ = has_failed_ || !settings_.is_interactive;
  return settings_.is_interactive;
}

bool ChatSession::carry_out(const ChatLine& line) {
  switch (line.verb) {
    case ChatVerb::kNothing:
      return true;
    case ChatVerb::kSay:
      return ask(line.text);
    case ChatVerb::kHelp:
      std::fputs(chat_help().c_str(), stderr);
      return true;
    case ChatVerb::kNew:
      conversation_.messages.clear();
      last_asked_.clear();
      note("A new conversation.");
      return true;
    case ChatVerb::kRetry:
      return retry();
    case ChatVerb::kSystem:
      return set_system(line.text);
    case ChatVerb::kSet:
      return set_sampling(line.text);
    case ChatVerb::kSpec:
      return say_switch("Drafts", line.text, drafts_);
    case ChatVerb::kColour:
      return say_switch("Colours", line.text, settings_.style.is_on);
    case ChatVerb::kSave:
      return save(line.text);
    case ChatVerb::kLoad:
      return load(line.text);
    case ChatVerb::kQuit:
      return false;
  }
  return true;
}

std::string ChatSession::body() const {
  boost::json::object body{{"model", settings_.model},
                           {"messages", conversation_.worded()},
                           {"stream", true},
                           {"stream_options", {{"include_usage", true}}}};
  settings_.sampling.write(body);
  // Asked for where it is shown only.
  if (!drafts_)
    body["speculative"] = {{"enabled", false}};
  else if (settings_.is_terminal)
    body["speculative"] = {{"trace", settings_.style.is_on}};
  return boost::json::serialize(body);
}

bool ChatSession::ask(const std::string& text) {
  last_asked_ = text;
  conversation_.messages.push_back({.text = text});
  AnswerPrinter printer(stdout, settings_.is_terminal, settings_.style, drafters_);
  std::string unread;
  const auto on_event = [&](std::string_view data) {
    if (const auto delta = read_answer_delta(data))
      printer.add(*delta);
    else
      unread = "the server sends what is no event of an answer";
  };
  const std::atomic<bool> never{false};
  auto outcome = client_.stream(body(), on_event, interrupts_ ? interrupts_->flag() : never);
  if (!printer.error().empty()) outcome = {ChatClient::End::kFailed, printer.error()};
  if (!unread.empty()) outcome = {ChatClient::End::kFailed, unread};
  printer.end(outcome.end == ChatClient::End::kStopped ? "stopped" : "");
  // A message without an answer is forgotten: the next one would stand behind it.
  if (printer.text().empty() && outcome.end != ChatClient::End::kComplete)
    conversation_.messages.pop_back();
  else
    conversation_.messages.push_back(
        {.is_answer = true, .text = printer.text(), .reasoning = printer.reasoning()});
  return outcome.end != ChatClient::End::kFailed || fault(outcome.why);
}

bool ChatSession::retry() {
  if (last_asked_.empty()) return fault("/retry: nothing was asked yet");
  auto& messages = conversation_.messages;
  if (!messages.empty() && messages.back().is_answer) messages.pop_back();
  if (!messages.empty() && !messages.back().is_answer) messages.pop_back();
  return ask(std::string(last_asked_));
}

bool ChatSession::say_switch(std::string_view name, const std::string& wish, bool& value) {
  if (!wish.empty()) value = wish == "on";
  note(fmt::format("{} are {}.", name, value ? "on" : "off"));
  return true;
}

bool ChatSession::set_system(const std::string& text) {
  if (!text.empty()) conversation_.system = text == "none" ? "" : text;
  note(conversation_.system.empty() ? "There is no system prompt."
                                    : "System prompt: " + harmless(conversation_.system));
  return true;
}

bool ChatSession::set_sampling(const std::string& text) {
  if (!text.empty())
    if (const auto refusal = settings_.sampling.set(text)) return fault(refusal->message);
  if (text.empty()) std::fputs(settings_.sampling.described().c_str(), stderr);
  return true;
}

bool ChatSession::save(const std::string& path) {
  std::error_code ignored;
  if (path != own_file_ && std::filesystem::exists(path, ignored))
    return fault(path + " is there already");
  const std::string text = conversation_.exported(milliseconds_now());
  if (const std::error_code why = replace_file(path, {text}))
    return fault(path + " cannot be written: " + why.message());
  own_file_ = path;
  note(fmt::format("{} messages were written to {}.", conversation_.messages.size(), path));
  return true;
}

bool ChatSession::load(const std::string& path) {
  try {
    const auto file = read_file(path);
    if (!file) return fault(path + ": there is no such file");
    auto loaded = Conversation::imported(*file);
    if (!loaded) return fault(path + " cannot be read: " + loaded.refusal().message);
    conversation_ = *std::move(loaded);
  } catch (const Error& error) {
    return fault(error.what());
  }
  own_file_ = path;
  last_asked_.clear();
  for (const ChatMessage& message : conversation_.messages)
    if (!message.is_answer) last_asked_ = message.text;
  note(fmt::format("{} messages were read.", conversation_.messages.size()));
  return true;
}

}  // namespace foretoken
