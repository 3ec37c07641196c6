#pragma once
// The lines of --log-requests: "Receive: ..." and "Finish: ...", as SGLang prints them, and
// "Refuse: ...". Prompts are shown as token ids, as the engine gets them. Functions without state.
// Each level adds to the one before:
//   0  metadata
//   1  sampling parameters
//   2  the beginning of prompt and output
//   3  all of prompt and output

#include "engine/request.h"
#include "server/context/server_config.h"
#include "server/http/http_observer.h"
#include "server/http/message.h"
#include "server/request/answer_format.h"

namespace foretoken {

void log_received(const ServerConfig& config, const HttpRequest& http, const Request& request);
// Also of a choice whose client has left: its finish_reason is disconnect.
void log_finished(const ServerConfig& config, const RunningChoice& choice);
// An answer with an error status, which no request may have preceded: `body` says why.
void log_refused(const ServerConfig& config, const RequestLine& line, int status,
                 std::string_view body);

}  // namespace foretoken
