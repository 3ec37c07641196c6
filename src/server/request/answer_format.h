#pragma once
// AnswerFormat: words the answer of one request in the style of its route. Not what runs, and not
// the sending: that is Generation, which calls it on the strand of the exchange.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shared_tokens.h"
#include "batch/sampling.h"
#include "engine/request.h"
#include "server/context/session_store.h"
#include "server/http/message.h"
#include "server/json/json_writer.h"
#include "server/request/choice.h"

namespace foretoken {

// One choice of the answer, as formats see it: facts of its request, and how far it is.
struct RunningChoice {
  RunningChoice(const Request& request, Choice output);

  int index = 0;  // in the answer
  std::string id;
  int prompt_index = 0;
  bool first_of_prompt = true;  // counts the prompt's tokens in usage
  bool has_prediction = false;  // usage tells what became of it
  bool reports_drafts = false;  // its end tells what became of them
  bool tells_steps = false;     // and each step what it verified
  std::int64_t prompt_tokens = 0;
  std::optional<SharedTokens> shown_prompt;  // whose ids the answer shows
  SamplingParams sampling;
  std::shared_ptr<SessionTurn> turn;  // that it answers; null: of no session
  Choice choice;
  std::size_t shown_text = 0;    // bytes of choice.text() in events so far
  std::size_t shown_tokens = 0;  // tokens in events so far
  std::size_t shown_steps = 0;   // of choice.traces() in events so far
  bool opened = false;           // an event was written
  bool closed = false;           // the event of its end was written
  double seconds = 0;            // since the request arrived, set at the end
};

// Words an answer. One object per request; called on the strand.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  // Server-sent events for what `choice` gained since its last event; the caller moves the shown_*
  // marks afterwards. May write nothing.
  virtual void write_event(const RunningChoice& choice, std::string& out) = 0;
  // What follows the last choice's last event, before [DONE].
  virtual void write_ending(const std::vector<RunningChoice>& choices, std::string& out) = 0;
  // Whether the end of a stream is "data: [DONE]".
  virtual bool ends_with_done() const { return true; }
  // The answer of a request that does not stream.
  virtual HttpReply whole(const std::vector<RunningChoice>& choices) = 0;
};

// "prompt_token_ids", where the answer shows them.
void write_prompt_ids(JsonWriter& json, const RunningChoice& choice);

// Appends "data: <json>\n\n".
void append_event(std::string& out, std::string_view json);
// The same behind "event: <name>\n".
void append_named_event(std::string& out, std::string_view name, std::string_view json);

}  // namespace foretoken
