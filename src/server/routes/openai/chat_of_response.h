#pragma once
// From a body of /v1/responses to the body of a chat, and what the answer repeats of the request.
// What is wrong is recorded as the request's fault, with its place in the body that was sent.

#include <set>
#include <string>

#include <boost/json/object.hpp>

#include "server/context/server_context.h"
#include "server/json/json_fields.h"

namespace foretoken {

struct ResponseRequest {
  boost::json::object chat;
  std::string messages;      // JSON text of those to be kept, without the instructions; empty: none
  boost::json::object echo;  // fields of the answer that repeat the request
  std::set<std::string, std::less<>> custom_tools;  // whose input is a text
  bool runs_in_background = false;                  // the client asks for the answer later
};

ResponseRequest chat_of_response(ServerContext& context, Fields& body);

}  // namespace foretoken
