#include "text/tokenize_lines.h"

#include <sstream>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "text/testing/test_tokenizers.h"

namespace foretoken {
namespace {

class TokenizeLines : public testing::Test {
 protected:
  TokenizeLines() {
    folder_.write("tokenizer.model", tiny_sentencepiece_model());
    folder_.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer",
        "chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"})");
    tokenizer_.emplace(folder_.path());
    chat_ = ChatTemplate::load(folder_.path(), tokenizer_->config());
  }

  std::string run(const std::string& lines) {
    std::istringstream in(lines);
    std::ostringstream out;
    tokenize_lines(in, out, *tokenizer_, &*chat_);
    return out.str();
  }

  TestFolder folder_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_;
};

TEST_F(TokenizeLines, text_gets_special_tokens_and_messages_only_those_of_the_template) {
  const std::string hello = std::to_string(*tokenizer_->token_id("\u2581hello"));
  EXPECT_EQ(run(R"({"text": "hello"})"), R"({"prompt":"hello","tokens":[1,)" + hello + "]}\n");
  EXPECT_EQ(run(R"({"messages": [{"role": "user", "content": " hello"}]})").substr(0, 32),
            R"({"prompt":"<s> hello","tokens":[)");
  const std::string tokens = run(R"({"messages": [{"role": "user", "content": " hello"}]})");
  EXPECT_EQ(tokens.find("[1,1,"), std::string::npos) << "one bos, that of the template";
  EXPECT_NE(tokens.find("[1,"), std::string::npos);
}

TEST_F(TokenizeLines, a_bad_line_gets_an_error_and_the_rest_goes_on) {
  const std::string out =
      run("{\"text\": 1}\nnot json\n\n[]\n{}\n{\"messages\": []}\n{\"text\": \"\xFF\"}\n{\"text\": "
          "\"hello\"}\r\n");
  std::istringstream lines(out);
  int errors = 0;
  std::string last;
  for (std::string line; std::getline(lines, line); last = line)
    errors += line.starts_with("{\"error\":") ? 1 : 0;
  EXPECT_EQ(errors, 6) << out;
  EXPECT_TRUE(last.starts_with(R"({"prompt":"hello")")) << out;
}

TEST_F(TokenizeLines, a_null_content_is_an_empty_one_as_the_server_renders_it) {
  EXPECT_EQ(run(R"({"messages": [{"role": "user", "content": null}]})"),
            run(R"({"messages": [{"role": "user", "content": ""}]})"));
}

TEST_F(TokenizeLines, messages_without_a_template_are_an_error) {
  const std::string line = tokenize_line(R"({"messages": [{}]})", *tokenizer_, nullptr);
  EXPECT_NE(line.find("no chat template"), std::string::npos);
}

}  // namespace
}  // namespace foretoken
