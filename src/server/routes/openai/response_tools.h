#pragma once
// The tools of a body of /v1/responses as those of a chat.
//   function          as it is
//   custom            a function of one text, "input"
//   all others        of OpenAI's own servers (web_search, mcp, local_shell, ...): skipped, with a
//                     line in the log
// What is wrong is recorded as the request's fault.

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "server/chat/chat_body.h"
#include "server/context/server_context.h"
#include "server/json/json_fields.h"

namespace foretoken {

struct ResponseTools {
  std::set<std::string, std::less<>> custom;  // names
  boost::json::value choice;                  // what the answer repeats of tool_choice
};

// Sets tools and tool_choice of `chat`. A choice of a tool that is skipped is "auto".
ResponseTools read_response_tools(ServerContext& context, Fields& body, ChatBody& chat);

// Says in the log, once for every kind, that `what` of `type` have no effect.
void skip_built_in(ServerContext& context, std::string_view what, std::string_view type);

}  // namespace foretoken
