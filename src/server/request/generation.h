#pragma once
// Generation: one HTTP request's choices from submission to the last byte. Submits to the engine,
// takes tokens as they come, lets an AnswerFormat word them, sends. Not a format and not text
// rules. Prepared by the worker that read the body, then on the exchange's strand; the engine only
// wakes it. Its request's id is free again before the client sees the end of the answer. A client
// that reads slowly makes it take tokens later and in bigger pieces, never block or buffer without
// bound; one that leaves cancels its choices.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/request.h"
#include "server/context/server_context.h"
#include "server/http/error_reply.h"
#include "server/http/message.h"
#include "server/request/choice.h"

namespace foretoken {

// What to generate for one choice.
struct ChoicePlan {
  Request request;  // without stream
  TextStream::Options text;
  std::shared_ptr<const Dialogue> dialogue;  // null: the answer has no parts
  int prompt_index = 0;
  bool first_of_prompt = true;  // counts the prompt's tokens in usage
  bool has_prediction = false;  // usage tells what became of it
  bool reports_drafts = false;  // its end tells what became of them
};

// A choice at work, as formats see it.
struct RunningChoice {
  RunningChoice(const ChoicePlan& choice_plan, const Tokenizer* tokenizer);

  int index = 0;  // in the answer
  std::string id;
  int prompt_index = 0;
  bool first_of_prompt = true;
  bool has_prediction = false;
  bool reports_drafts = false;
  std::int64_t prompt_tokens = 0;
  SamplingParams sampling;
  Choice choice;
  std::size_t shown_text = 0;    // bytes of choice.text() in events so far
  std::size_t shown_tokens = 0;  // tokens in events so far
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

struct GenerationPlan {
  std::vector<ChoicePlan> choices;
  bool stream = false;
  bool is_cumulative = false;  // every event of a choice repeats all of its answer so far
  double held_bytes = 0;       // what the choices may come to hold, see answer_limit.h
  ErrorStyle errors = ErrorStyle::kOpenAi;
  int stream_interval = 1;  // tokens per event at least
  std::unique_ptr<AnswerFormat> format;
};

// Starts answering `exchange`. From any thread, best a worker: what takes time is done here; before
// the handler returns, because the request's head is read.
void start_generation(ServerContext& context, std::shared_ptr<Exchange> exchange,
                      GenerationPlan plan);

// Appends "data: <json>\n\n".
void append_event(std::string& out, std::string_view json);
// The same behind "event: <name>\n".
void append_named_event(std::string& out, std::string_view name, std::string_view json);

}  // namespace foretoken
