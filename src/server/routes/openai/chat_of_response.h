#pragma once
// From a body of /v1/responses to the body of a chat, and what the answer repeats of the request.
// What is wrong is recorded as the request's fault, with its place in the body that was sent.

#include <string>

#include <boost/json/object.hpp>

#include "server/context/server_context.h"
#include "server/json/json_fields.h"

namespace foretoken {

struct ResponseRequest {
  boost::json::object chat;
  std::string messages;      // JSON text of those to be kept, without the instructions; empty: none
  boost::json::object echo;  // fields of the answer that repeat the request
};

ResponseRequest chat_of_response(ServerContext& context, Fields& body);

}  // namespace foretoken
