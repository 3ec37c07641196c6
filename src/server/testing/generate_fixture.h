#pragma once
// GenerateTest: the fixture of the suites of /generate.

#include <string>

#include "server/testing/server_fixture.h"

namespace foretoken {

class GenerateTest : public ServerTest {
 protected:
  ClientReply generate(const std::string& fields) {
    return post(port, "/generate", "{" + fields + "}");
  }
  std::string refusal_of(const std::string& fields) {
    const auto reply = generate(fields);
    EXPECT_EQ(reply.status, 400) << fields << " " << reply.body;
    return std::string(json_of(reply.body).at("error").at("message").as_string());
  }
  std::string sampling_refusal(const std::string& params) {
    return refusal_of(R"("text":"Hi","sampling_params":{)" + params + "}");
  }
};

}  // namespace foretoken
