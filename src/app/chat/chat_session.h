#pragma once
// ChatSession: a chat with one server from its first line to its last: reads lines, carries out
// commands, asks, shows answers. Answers go to standard output and all else to standard error. Not
// the start of a server. One thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/chat/chat_client.h"
#include "app/chat/chat_line.h"
#include "app/chat/conversation.h"
#include "app/chat/interrupt.h"
#include "app/chat/line_input.h"
#include "app/chat/sampling_settings.h"
#include "app/chat/terminal_text.h"

namespace foretoken {

struct ChatSettings {
  std::string model;  // as the server names it
  std::string system;
  SamplingSettings sampling;
  bool is_interactive = false;  // somebody types: a fault is told, and the chat goes on
  bool is_terminal = false;     // where answers go
  TerminalStyle style;          // of answers
  TerminalStyle note_style;     // of all else
};

class ChatSession {
 public:
  // References outlive the session.
  ChatSession(ChatClient& client, LineInput& input, ChatSettings settings);

  // Until the input ends, /quit, or, where nobody types, a fault. The exit code.
  int run();

 private:
  // False: the chat ends.
  bool carry_out(const ChatLine& line);
  bool ask(const std::string& text);
  bool retry();
  bool say_switch(std::string_view name, const std::string& wish, bool& value);
  bool set_system(const std::string& text);
  bool set_sampling(const std::string& text);
  bool save(const std::string& path);
  bool load(const std::string& path);
  std::string body() const;
  void note(const std::string& text) const;
  bool fault(const std::string& text);  // whether the chat goes on

  ChatClient& client_;
  LineInput& input_;
  ChatSettings settings_;
  std::optional<InterruptGuard> interrupts_;  // where somebody types
  Conversation conversation_;
  std::string last_asked_;
  std::string own_file_;  // that was saved to or loaded from: it may be written over
  std::vector<std::string> drafters_;
  bool drafts_ = true;
  bool has_failed_ = false;
};

}  // namespace foretoken
