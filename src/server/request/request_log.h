#pragma once
// The lines of --log-requests: "Receive: ..." and "Finish: ...", as SGLang prints them, and
// "Refuse:
// ...". Levels: 0 metadata, 1 and sampling parameters, 2 and the beginning of prompt and output, 3
// all of them.
// Prompts are shown as token ids, because that is what the engine got. Functions without state.

#include "engine/request.h"
#include "server/context/server_config.h"
#include "server/http/http_observer.h"
#include "server/http/message.h"
#include "server/request/generation.h"

namespace foretoken {

void log_received(const ServerConfig& config, const HttpRequest& http, const Request& request);
// Also of a choice whose client has left: its finish_reason is disconnect.
void log_finished(const ServerConfig& config, const RunningChoice& choice);
// An answer with an error status, which no request may have preceded: `body` says why.
void log_refused(const ServerConfig& config, const RequestLine& line, int status,
                 std::string_view body);

}  // namespace foretoken
