#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "server/json/base64.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

// The engine of these tests gives position p the state {3p, 4p}.
class EmbeddingsTest : public ServerTest {
 protected:
  ClientReply embed(const std::string& fields) {
    return post(port, "/v1/embeddings", "{" + fields + "}");
  }
  std::string refusal_of(const std::string& fields) {
    const auto reply = embed(fields);
    EXPECT_EQ(reply.status, 400) << fields << " " << reply.body;
    return std::string(json_of(reply.body).at("message").as_string());
  }
};

TEST_F(EmbeddingsTest, a_text_is_its_last_state_at_length_1) {
  start();
  const auto body = json_of(embed(R"("input":"Hello","model":"m")").body);
  EXPECT_EQ(body.at("object"), "list");
  EXPECT_EQ(body.at("model"), "m");
  EXPECT_EQ(body.at("data").at(0).at("object"), "embedding");
  const auto& values = body.at("data").at(0).at("embedding");
  EXPECT_NEAR(values.at(0).to_number<double>(), 0.6, 1e-6);
  EXPECT_NEAR(values.at(1).to_number<double>(), 0.8, 1e-6);
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 5);
  EXPECT_EQ(body.at("usage").at("total_tokens"), 5);
  EXPECT_EQ(engine.received().at(0).hidden_start, 4);
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 1);
}

TEST_F(EmbeddingsTest, the_mean_is_that_of_all_tokens) {
  start();
  const auto body = json_of(embed(R"("input":"Hi","pooling":"mean","dimensions":1)").body);
  EXPECT_NEAR(body.at("data").at(0).at("embedding").at(0).to_number<double>(), 1.0, 1e-6);
  EXPECT_EQ(body.at("data").at(0).at("embedding").as_array().size(), 1U);
  EXPECT_EQ(engine.received().at(0).hidden_start, 0);
}

TEST_F(EmbeddingsTest, inputs_are_texts_or_ids_one_or_many) {
  start();
  const auto texts = json_of(embed(R"("input":["a","bc"])").body);
  EXPECT_EQ(texts.at("data").as_array().size(), 2U);
  EXPECT_EQ(texts.at("data").at(1).at("index"), 1);
  embed(R"("input":[72,73])");
  embed(R"("input":[[72],[73,74]])");
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 5U);
  EXPECT_EQ(received.at(2).prompt, byte_tokens("HI"));
  EXPECT_EQ(received.at(4).prompt, byte_tokens("IJ"));
}

TEST_F(EmbeddingsTest, base64_holds_floats_lowest_byte_first) {
  start();
  const auto body = json_of(embed(R"("input":"Hi","encoding_format":"base64")").body);
  EXPECT_EQ(body.at("data").at(0).at("embedding"), "mpkZP83MTD8=");  // 0.6F, 0.8F
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
}

TEST_F(EmbeddingsTest, what_cannot_be_embedded_is_refused) {
  start();
  for (const char* fields :
       {R"("model":"m")", R"("input":"")", R"("input":[])", R"("input":[""])", R"("input":[[]])",
        R"("input":[1.5])", R"("input":{"a":1})", R"("input":"a","encoding_format":"hex")",
        R"("input":"a","dimensions":0)", R"("input":"a","dimensions":3)",
        R"("input":"a","pooling":"cls")", R"("input":[99999])"})
    EXPECT_NE(refusal_of(fields), "") << fields;
}

}  // namespace
}  // namespace foretoken
