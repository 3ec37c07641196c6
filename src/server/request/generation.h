#pragma once
// Generation: one HTTP request's choices from submission to the last byte. It submits to the
// engine, takes tokens as they come, lets an AnswerFormat word them, and sends. Not a format and
// not text rules.
//   - It is prepared by the worker that read the body, then lives on the exchange's strand; the
//     engine only wakes it.
//   - The ids of its requests are free again before the client sees the end of the answer.
//   - A client that reads slowly makes it take tokens later and in larger pieces: it neither blocks
//     nor buffers without bound. A client that leaves cancels its choices.

#include <memory>
#include <optional>
#include <vector>

#include "engine/request.h"
#include "server/context/server_context.h"
#include "server/http/error_reply.h"
#include "server/http/message.h"
#include "server/request/answer_format.h"

namespace foretoken {

// GenerationPlan: what runs for one HTTP request, and how it is answered. The other of the two
// plans of a request, see asked_prompt.h.
struct GenerationPlan {
  // One of each for every choice of every prompt, in the order of the answer.
  std::vector<Request> requests;       // what the engine gets, without streams
  std::vector<RunningChoice> choices;  // what the answer shows of it

  bool stream = false;
  bool is_cumulative = false;  // every event of a choice repeats all of its answer so far
  double held_bytes = 0;       // what the choices may come to hold, see answer_limit.h
  ErrorStyle errors = ErrorStyle::kOpenAi;
  int stream_interval = 1;  // tokens per event at least
  std::unique_ptr<AnswerFormat> format;
  // The client is answered with this at once; what is generated goes to `late_reply`.
  std::optional<HttpReply> early_reply;
  DetachedWork::OnReply late_reply;

  // Adds a choice; its facts can be set in what is returned.
  RunningChoice& add(Request request, Choice output);
};

// Starts answering `exchange`. From any thread, best a worker: what takes time is done here; before
// the handler returns, because the request's head is read.
void start_generation(ServerContext& context, std::shared_ptr<Exchange> exchange,
                      GenerationPlan plan);

}  // namespace foretoken
