#pragma once
// The body of an answer that is an error: one shape per family of routes, the same from the
// connection, the router and the handlers. Pure functions.

#include <string>
#include <string_view>

#include "base/error.h"
#include "server/http/message.h"

namespace foretoken {

enum class ErrorStyle {
  kOpenAi,     // {"object": "error", "message": ..., "type": ..., "param": null, "code": 400}
  kResponses,  // {"error": {"message": ..., "type": ..., "param": ..., "code": null}}, /v1/responses
  kAnthropic,  // {"type": "error", "error": {"type": ..., "message": ...}}, /v1/messages
  kNative,     // {"error": {"message": ...}}, SGLang's own routes
};

// The family that a path belongs to; an empty path is of none and gets the native shape.
ErrorStyle error_style_of(std::string_view path);

std::string error_json(ErrorStyle style, const Refusal& refusal);
HttpReply error_reply(ErrorStyle style, const Refusal& refusal);

}  // namespace foretoken
