// Prompts that let a model fill in the middle, by /v1/completions and /infill.
#include "server/request/infill.h"

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class InfillTest : public ServerTest {
 protected:
  InfillTest() {
    text_options.marks = {"of the fixture"};
    config.vocab = kByteVocab + 5;
  }
  std::string last_prompt() {
    return tokenizer().decode(engine.received().back().prompt, SpecialText::kKeep);
  }
  std::string message_of(const ClientReply& reply) {
    EXPECT_EQ(reply.status, 400) << reply.body;
    return reply.body;
  }
};

TEST_F(InfillTest, the_suffix_of_a_completion_stands_behind_the_gap) {
  start();
  const auto reply =
      post(port, "/v1/completions", R"({"prompt":"def f(","suffix":"return x","max_tokens":50})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(last_prompt(), "<|fim_prefix|>def f(<|fim_suffix|>return x<|fim_middle|>");
  EXPECT_EQ(json_of(reply.body).at("choices").at(0).at("text"), "Hello, world!");
  ASSERT_EQ(post(port, "/v1/completions", R"({"prompt":["a","b"],"suffix":"c"})").status, 200);
  EXPECT_EQ(last_prompt(), "<|fim_prefix|>b<|fim_suffix|>c<|fim_middle|>");
  ASSERT_EQ(post(port, "/v1/completions", R"({"prompt":[97],"suffix":"c"})").status, 200);
  EXPECT_EQ(last_prompt(), "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>");
  ASSERT_EQ(post(port, "/v1/completions", R"({"prompt":"a","suffix":""})").status, 200);
  EXPECT_EQ(last_prompt(), "a");
}

TEST_F(InfillTest, marks_end_the_middle) {
  answer = byte_tokens("x+y");
  answer.push_back(kByteVocab + 4);  // <|endoftext|>, no end token of this model
  answer.push_back('z');
  answer.push_back(kByteEos);
  start();
  const auto ask = [&](const std::string& fields) {
    return json_of(post(port, "/v1/completions", R"({"prompt":"a")" + fields + "}").body)
        .at("choices")
        .at(0);
  };
  const auto filled = ask(R"(,"suffix":"b")");
  EXPECT_EQ(filled.at("text"), "x+y");
  EXPECT_EQ(filled.at("finish_reason"), "stop");
  EXPECT_EQ(ask("").at("text"), "x+yz");
  EXPECT_EQ(ask(R"(,"suffix":"b","ignore_eos":true,"max_tokens":5)").at("text"), "x+yz");
}

TEST_F(InfillTest, editors_of_llama_cpp_are_answered_in_its_words) {
  start();
  const auto reply = post(port, "/infill",
                          R"({"input_prefix":"a","prompt":"b","input_suffix":"c","n_predict":6,
      "input_extra":[{"filename":"x.py","text":"X"},{"text":"Y"}],"top_k":0,
      "samplers":["top_k","infill"],"t_max_predict_ms":500,"cache_prompt":true})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(last_prompt(),
            "<|file_sep|>x.py\nX<|file_sep|>tmp\nY<|fim_prefix|>ab<|fim_suffix|>c<|fim_middle|>");
  const auto body = json_of(reply.body);
  EXPECT_EQ(body.at("content"), "Hello,");
  EXPECT_EQ(body.at("stop"), true);
  EXPECT_EQ(body.at("stop_type"), "limit");
  EXPECT_EQ(body.at("tokens_predicted"), 6);

  const auto streamed = post(
      port, "/infill", R"({"input_prefix":"a","input_suffix":"c","stream":true,"stop":["wor"]})");
  std::string text;
  boost::json::value last;
  for (const auto& event : sse_events(streamed.body)) {
    last = json_of(event);
    text += last.at("content").as_string();
  }
  EXPECT_EQ(text, "Hello, ");
  EXPECT_EQ(last.at("stop_type"), "word");
  EXPECT_EQ(last.at("stopping_word"), "wor");
}

TEST_F(InfillTest, what_is_wrong_is_refused) {
  start();
  for (const auto& [path, body, fault] : std::vector<std::array<std::string, 3>>{
           {"/v1/completions", R"({"prompt":"a","suffix":5})", "body.suffix"},
           {"/v1/completions", R"({"prompt":"a","suffix":"b","echo":true})",
            "echo and suffix cannot both be set"},
           {"/v1/chat/completions", R"({"messages":[],"suffix":"b"})", "use /v1/completions"},
           {"/infill", R"({"input_prefix":"a"})", "body.input_suffix: Field required"},
           {"/infill", R"({"input_prefix":"a","input_suffix":"b","input_extra":[{}]})",
            "body.input_extra.0.text: Field required"},
           {"/infill", R"({"input_prefix":"a","input_suffix":"b","n":2})", "one answer"}})
    EXPECT_NE(message_of(post(port, path, body)).find(fault), std::string::npos) << body;
}

TEST_F(InfillTest, a_tokenizer_without_marks_is_named) {
  text_options.marks.clear();
  start();
  EXPECT_NE(message_of(post(port, "/v1/completions", R"({"prompt":"a","suffix":"b"})"))
                .find("this model's tokenizer has no marks to fill in the middle"),
            std::string::npos);
}

// The marks of a family, in its order.
std::string prompt_of(const std::vector<std::string>& marks) {
  const ByteTokenizerFolder folder({.marks = marks});
  const Tokenizer tokenizer(folder.path());
  ServerConfig config;
  config.context_length = 512;
  FakeEngine engine([](const Request&) { return std::vector<Token>{}; });
  const ServerContext context(config, engine, &tokenizer, nullptr);
  const auto prompt = infill_prompt(context, {.before = byte_tokens("A"), .after = "B"});
  return prompt ? tokenizer.decode(prompt->tokens, SpecialText::kKeep) : prompt.refusal().message;
}

TEST(Infill, each_family_has_its_order) {
  EXPECT_EQ(prompt_of({"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}),
            "<fim_prefix>A<fim_suffix>B<fim_middle>");
  EXPECT_EQ(prompt_of({"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"}),
            "<｜fim▁begin｜>A<｜fim▁hole｜>B<｜fim▁end｜>");
  EXPECT_EQ(prompt_of({"[PREFIX]", "[SUFFIX]"}), "[SUFFIX]B[PREFIX]A");
  EXPECT_NE(prompt_of({"<fim_prefix>", "<fim_suffix>"}).find("no marks"), std::string::npos);
}

}  // namespace
}  // namespace foretoken
