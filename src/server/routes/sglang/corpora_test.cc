#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class CorporaTest : public ServerTest {
 protected:
  CorporaTest() { config.corpora = std::make_shared<Corpora>(100); }

  ClientReply add(const std::string& fields) {
    return post(port, "/add_external_corpus", "{" + fields + "}");
  }
  std::string refusal_of(const std::string& fields) {
    const auto reply = add(fields);
    EXPECT_EQ(reply.status, 400) << fields << " " << reply.body;
    const auto body = json_of(reply.body);
    EXPECT_FALSE(body.at("success").as_bool());
    return std::string(body.at("message").as_string());
  }
  static std::string file_with(const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) / "corpora_test.jsonl";
    std::ofstream(path) << text;
    return path.string();
  }
};

TEST_F(CorporaTest, come_are_listed_and_go) {
  start();
  const auto added = add(R"("corpus_id":"a","documents":["Hello","you"])");
  ASSERT_EQ(added.status, 200) << added.body;
  EXPECT_EQ(json_of(added.body).at("corpus_id").as_string(), "a");
  const auto tokens = json_of(added.body).at("loaded_token_count").as_int64();
  EXPECT_EQ(tokens, 8);  // a token a byte
  const auto named = add(R"("token_chunks":[[1,2],[3]])");
  const std::string name(json_of(named.body).at("corpus_id").as_string());
  EXPECT_FALSE(name.empty());
  const auto counts = [&] {
    return json_of(get(port, "/list_external_corpora").body).at("corpus_token_counts").as_object();
  };
  EXPECT_EQ(counts().at("a").as_int64(), 8);
  EXPECT_EQ(counts().at(name).as_int64(), 3);
  EXPECT_EQ(post(port, "/remove_external_corpus", R"({"corpus_id":"a"})").status, 200);
  EXPECT_FALSE(counts().contains("a"));
  EXPECT_EQ(config.corpora->all()->size(), 1U);
}

TEST_F(CorporaTest, files_are_read_line_by_line) {
  start();
  const auto path = file_with("\"Hello\"\n\n\"you\"\n");
  EXPECT_EQ(json_of(add(R"("file_path":")" + path + "\"").body).at("loaded_token_count").as_int64(),
            8);
  EXPECT_EQ(refusal_of(R"("file_path":")" + file_with("\"a\"\n{}\n") + "\""),
            path + ":2: expected a JSON string.");
  EXPECT_EQ(refusal_of(R"("file_path":")" + file_with("\"a\"\nnot JSON\n") + "\""),
            path + ":2: expected a JSON string.");
  EXPECT_EQ(refusal_of(R"("file_path":"/dev/zero")"), "/dev/zero: no such file.");
}

TEST_F(CorporaTest, what_cannot_be_is_refused_with_the_reason) {
  start();
  EXPECT_EQ(refusal_of(""), "Exactly one of file_path, documents and token_chunks must be given.");
  EXPECT_EQ(refusal_of(R"("documents":["a"],"token_chunks":[[1]])"),
            "Exactly one of file_path, documents and token_chunks must be given.");
  EXPECT_EQ(refusal_of(R"("documents":["a",5])"),
            "body.documents.1: Input should be a valid string");
  EXPECT_EQ(refusal_of(R"("documents":[])").find("has no tokens") == std::string::npos, false);
  EXPECT_NE(refusal_of(R"("documents":[")" + std::string(101, 'a') + R"("])")
                .find("more tokens than the 100 that are left"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"("token_chunks":[[-1]])").find("not in the vocabulary"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"("token_chunks":[["a"]])").find("list of lists of integers"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"("token_chunks":"a")").find("token_chunks"), std::string::npos);
  ASSERT_EQ(add(R"("corpus_id":"a","documents":["b"])").status, 200);
  EXPECT_EQ(refusal_of(R"("corpus_id":"a","documents":["b"])"),
            "External corpus 'a' already exists. Remove it first.");
  const auto removed = post(port, "/remove_external_corpus", R"({"corpus_id":"b"})");
  EXPECT_EQ(removed.status, 400);
  EXPECT_EQ(json_of(removed.body).at("message").as_string(), "External corpus 'b' is not loaded.");
  EXPECT_EQ(json_of(post(port, "/remove_external_corpus", "{}").body).at("message").as_string(),
            "corpus_id is required.");
}

TEST_F(CorporaTest, a_server_that_does_not_draft_from_them_says_so) {
  config.corpora = nullptr;
  start();
  EXPECT_NE(refusal_of(R"("documents":["b"])").find("--speculative-ngram-external-sam-budget"),
            std::string::npos);
  EXPECT_EQ(get(port, "/list_external_corpora").status, 400);
}

}  // namespace
}  // namespace foretoken
