#pragma once
// ChatTest: the fixture of the suites of /v1/chat/completions.

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "server/testing/server_fixture.h"

namespace foretoken {

class ChatTest : public ServerTest {
 protected:
  ClientReply chat(const std::string& fields = {}) {
    return post(port, "/v1/chat/completions",
                R"({"model":"any","messages":[{"role":"user","content":"Hi"}])" +
                    (fields.empty() ? "" : "," + fields) + "}");
  }
  std::string refusal_of(const std::string& fields) {
    const auto reply = chat(fields);
    EXPECT_EQ(reply.status, 400) << fields;
    const auto body = json_of(reply.body);
    EXPECT_EQ(body.at("object"), "error");
    EXPECT_EQ(body.at("type"), "BadRequestError");
    EXPECT_EQ(body.at("code"), 400);
    return std::string(body.at("message").as_string());
  }
  // Streams; [DONE] must come last. The parsed chunks before it.
  std::vector<boost::json::value> stream(const std::string& fields) {
    const auto reply = chat(R"("stream":true)" + (fields.empty() ? "" : "," + fields));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_NE(reply.head.find("content-type: text/event-stream"), std::string::npos);
    auto events = sse_events(reply.body);
    EXPECT_TRUE(!events.empty() && events.back() == "[DONE]") << reply.body;
    if (!events.empty()) events.pop_back();
    std::vector<boost::json::value> out;
    for (const auto& event : events) out.push_back(json_of(event));
    return out;
  }
  static std::string content_of(const std::vector<boost::json::value>& chunks, int index = 0) {
    std::string text;
    for (const auto& chunk : chunks)
      for (const auto& choice : chunk.at("choices").as_array())
        if (choice.at("index") == index && choice.at("delta").at("content").is_string())
          text += choice.at("delta").at("content").as_string();
    return text;
  }
};

}  // namespace foretoken
