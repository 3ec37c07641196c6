#include <cmath>

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

// The engine of these tests gives id i the logprob -i.
class ScoreTest : public ServerTest {
 protected:
  json::value score(const std::string& fields) {
    const auto reply = post(port, "/v1/score", "{" + fields + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body);
  }
  std::string refusal_of(const std::string& fields) {
    const auto reply = post(port, "/v1/score", "{" + fields + "}");
    EXPECT_EQ(reply.status, 400) << fields << " " << reply.body;
    return std::string(json_of(reply.body).at("message").as_string());
  }
};

TEST_F(ScoreTest, every_item_gets_the_probabilities_of_the_labels) {
  start();
  const auto body = score(R"("query":"Q","items":["ab","c"],"label_token_ids":[1,3],"model":"m")");
  EXPECT_EQ(body.at("object"), "scoring");
  EXPECT_EQ(body.at("model"), "m");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 5);
  ASSERT_EQ(body.at("scores").as_array().size(), 2U);
  EXPECT_NEAR(body.at("scores").at(0).at(0).as_double(), std::exp(-1.0), 1e-6);
  EXPECT_NEAR(body.at("scores").at(1).at(1).as_double(), std::exp(-3.0), 1e-6);
  const auto received = engine.received();
  EXPECT_EQ(received.at(0).prompt, byte_tokens("Qab"));
  EXPECT_EQ(received.at(1).prompt, byte_tokens("Qc"));
  EXPECT_EQ(received.at(0).max_new_tokens, 1);
  EXPECT_EQ(received.at(0).sampling.temperature, 0.0F);
}

TEST_F(ScoreTest, softmax_is_over_the_labels_alone) {
  start();
  const auto row =
      score(R"("query":"Q","items":"a","label_token_ids":[1,3],"apply_softmax":true)").at("scores");
  const double odds = std::exp(-2.0);
  EXPECT_NEAR(row.at(0).at(0).as_double(), 1.0 / (1.0 + odds), 1e-6);
  EXPECT_NEAR(row.at(0).at(1).as_double(), odds / (1.0 + odds), 1e-6);
}

TEST_F(ScoreTest, ids_and_the_other_order_work_as_well) {
  start();
  score(R"("query":[72],"items":[[73,74],[75]],"label_token_ids":[0],"item_first":true)");
  score(R"("query":"Q","items":["a"],"label_token_ids":[0],"item_first":true)");
  score(R"("items":[[9]],"label_token_ids":[0])");
  const auto received = engine.received();
  EXPECT_EQ(received.at(0).prompt, byte_tokens("IJH"));
  EXPECT_EQ(received.at(1).prompt, byte_tokens("KH"));
  EXPECT_EQ(received.at(2).prompt, byte_tokens("aQ"));
  EXPECT_EQ(received.at(3).prompt, (std::vector<Token>{9}));
  EXPECT_TRUE(
      score(R"("query":"Q","items":[],"label_token_ids":[0])").at("scores").as_array().empty());
}

TEST_F(ScoreTest, wrong_bodies_are_refused_with_sglangs_texts) {
  start();
  EXPECT_EQ(refusal_of(R"("query":"Q","items":["a"])"),
            "label_token_ids is required for generation (CausalLM) models.");
  EXPECT_EQ(refusal_of(R"("query":"Q","label_token_ids":[1])"), "items must be provided");
  EXPECT_EQ(refusal_of(R"("query":"Q","items":["a"],"label_token_ids":[260])"),
            "Token ID 260 is out of vocabulary (vocab size: 260)");
  const std::string mixed = "Invalid combination of query/items types for score_request.";
  EXPECT_EQ(refusal_of(R"("query":"Q","items":[[1]],"label_token_ids":[1])"), mixed);
  EXPECT_EQ(refusal_of(R"("query":[1],"items":["a"],"label_token_ids":[1])"), mixed);
  EXPECT_EQ(refusal_of(R"("query":[1],"items":"a","label_token_ids":[1])"), mixed);
  EXPECT_EQ(refusal_of(R"("query":"Q","items":["a",1],"label_token_ids":[1])"), mixed);
  EXPECT_NE(refusal_of(R"("query":1,"items":["a"],"label_token_ids":[1])").find("body.query"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"("query":"Q","items":[""],"label_token_ids":[300,1])").find("300"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken
