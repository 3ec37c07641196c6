// Tokenizers and chat templates made of GGUF files.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/formats/gguf/gguf_pre_tokenizer.h"
#include "checkpoint/model_files.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GgufTokenizer : public testing::Test {
 protected:
  std::unique_ptr<ModelFiles> files_of(const GgufBytes& file) const {
    folder_.write("model.gguf", file.bytes());
    return open_model_files(folder_.path() + "/model.gguf");
  }
  Tokenizer tokenizer_of(const GgufBytes& file) const { return Tokenizer(*files_of(file)); }
  std::string fault_of(const GgufBytes& file) const {
    return error_of([&] { tokenizer_of(file); });
  }

  TestFolder folder_;
};

std::vector<Token> encode(const Tokenizer& tokenizer, std::string_view text,
                          AddSpecial special = AddSpecial::kNo) {
  return *tokenizer.encode(text, special);
}

GgufBytes byte_level(const std::string& pre = "qwen2") {
  GgufBytes file;
  return add_byte_level(file, pre);
}

TEST_F(GgufTokenizer, byte_level_tokens_are_the_files) {
  const Tokenizer tokenizer = tokenizer_of(byte_level());
  EXPECT_THAT(encode(tokenizer, "hello world<|end|><tool>\n"),
              ElementsAre(259, 260, 'o', 'r', 'l', 'd', 261, 262, '\n'));
  EXPECT_EQ(tokenizer.decode(std::vector<Token>{259, 260, 261, 262}, SpecialText::kSkip),
            "hello w<tool>");
  EXPECT_TRUE(tokenizer.is_special(261));
  EXPECT_FALSE(tokenizer.is_special(262));
  EXPECT_FALSE(tokenizer.is_known(270)) << "fills up the vocabulary";
  EXPECT_EQ(tokenizer.eos(), 261);
  EXPECT_EQ(tokenizer.bos(), std::nullopt);
  EXPECT_EQ(tokenizer.piece_join(), PieceJoin::kByteLevel);
  EXPECT_THAT(encode(tokenizer, "e\u0301"), ElementsAre(0xC3, 0xA9)) << "composed";
  EXPECT_THAT(encode(tokenizer_of(byte_level("gpt-2")), "e\u0301"), ElementsAre('e', 0xCC, 0x81));
}

// Pieces with a letter for spaces, put together by merges; what has no piece is bytes.
GgufBytes merged_pieces() {
  const std::vector<std::string> tokens{"<pad>",  "<eos>",  "<bos>",  "<unk>",    "<turn|>",
                                        "<tool>", "<0xC3>", "<0xA9>", "\u2581",   "h",
                                        "i",      "\n",     "hi",     "\u2581hi", "\n\n"};
  GgufBytes file;
  file.text("tokenizer.ggml.model", "gemma4").texts("tokenizer.ggml.tokens", tokens);
  file.i32s("tokenizer.ggml.token_type", {3, 3, 3, 2, 3, 4, 6, 6, 1, 1, 1, 1, 1, 1, 1});
  file.texts("tokenizer.ggml.merges", {"h i", "\u2581 hi", "\n \n"});
  file.u32("tokenizer.ggml.eos_token_id", 1).u32("tokenizer.ggml.bos_token_id", 2);
  file.u32("tokenizer.ggml.unknown_token_id", 3).boolean("tokenizer.ggml.add_bos_token", true);
  return file;
}

TEST_F(GgufTokenizer, pieces_are_merged_and_bytes_stand_in) {
  const Tokenizer tokenizer = tokenizer_of(merged_pieces());
  EXPECT_THAT(encode(tokenizer, "hi hi\n\n<tool>\u00E9<turn|>"),
              ElementsAre(12, 13, 14, 5, 6, 7, 4));
  EXPECT_THAT(encode(tokenizer, "h", AddSpecial::kYes), ElementsAre(2, 9));
  EXPECT_EQ(tokenizer.decode(std::vector<Token>{12, 13, 6, 7, 14}, SpecialText::kKeep),
            "hi hi\u00E9\n\n");
  EXPECT_EQ(tokenizer.eos(), 1);
  EXPECT_TRUE(tokenizer.is_special(4));
}

TEST_F(GgufTokenizer, every_rule_for_words_is_a_tokenizer) {
  const std::string names = gguf_pre_tokenizer_names();
  const std::string text =
      " Hello, 12345 \u4F60\u597D\t\n\n isn't \u0391\u03B2 \u00E9a\u0300!? x  ";
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(", ", at), names.size());
    GgufBytes file = byte_level(names.substr(at, end - at));
    const Tokenizer tokenizer = tokenizer_of(file.u32("tokenizer.ggml.bos_token_id", 261));
    const auto tokens = tokenizer.encode(text, AddSpecial::kNo);
    ASSERT_TRUE(tokens) << names.substr(at, end - at);
    if (!gguf_pre_tokenizer(names.substr(at, end - at))->composes) {
      EXPECT_EQ(tokenizer.decode(*tokens, SpecialText::kKeep), text);
    }
    at = end + 2;
  }
}

TEST_F(GgufTokenizer, a_text_is_framed_as_the_file_says) {
  GgufBytes file = byte_level();
  file.boolean("tokenizer.ggml.add_bos_token", true).u32("tokenizer.ggml.bos_token_id", 262);
  file.boolean("tokenizer.ggml.add_eos_token", true);
  EXPECT_THAT(encode(tokenizer_of(file), "h", AddSpecial::kYes), ElementsAre(262, 'h', 261));
  GgufBytes usual = byte_level("llama-bpe");
  usual.u32("tokenizer.ggml.bos_token_id", 262);
  EXPECT_THAT(encode(tokenizer_of(usual), "h", AddSpecial::kYes), ElementsAre(262, 'h'));
  EXPECT_THAT(encode(tokenizer_of(byte_level()), "h", AddSpecial::kYes), ElementsAre('h'));
}

GgufBytes sentencepiece() {
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types{2, 3, 3};
  std::vector<float> scores{0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr const char* kHex = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">");
    types.push_back(6);
    scores.push_back(0);
  }
  float score = -1;
  for (const char* piece : {"\u2581h", "\u2581hi", "h", "i", "\u2581"}) {
    tokens.emplace_back(piece);
    types.push_back(1);
    scores.push_back(score--);
  }
  tokens.emplace_back("<tool>");
  types.push_back(4);
  scores.push_back(0);
  GgufBytes file;
  file.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens);
  return file.i32s("tokenizer.ggml.token_type", types).f32s("tokenizer.ggml.scores", scores);
}

TEST_F(GgufTokenizer, sentencepiece_tokens_are_the_files) {
  const Tokenizer tokenizer = tokenizer_of(sentencepiece());
  EXPECT_THAT(encode(tokenizer, "hi hi!", AddSpecial::kYes), ElementsAre(1, 260, 260, 3 + '!'));
  EXPECT_THAT(encode(tokenizer, "<tool>"), ElementsAre(264));
  EXPECT_EQ(tokenizer.decode(std::vector<Token>{260, 260}, SpecialText::kKeep), "hi hi");
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  GgufBytes bare = sentencepiece();
  bare.boolean("tokenizer.ggml.add_space_prefix", false);
  bare.boolean("tokenizer.ggml.add_bos_token", false);
  EXPECT_THAT(encode(tokenizer_of(bare), "hi hi", AddSpecial::kYes), ElementsAre(261, 262, 260));
}

TEST_F(GgufTokenizer, vocabularies_that_cannot_be_read_are_refused_by_key) {
  EXPECT_THAT(fault_of(byte_level("no-such-rule")),
              AllOf(HasSubstr("key tokenizer.ggml.pre): expected default, "),
                    HasSubstr("found no-such-rule")));
  EXPECT_THAT(fault_of(GgufBytes()), HasSubstr("expected tokenizer.ggml.model"));
  EXPECT_THAT(fault_of(GgufBytes().text("tokenizer.ggml.model", "bert")), HasSubstr("found bert"));
  EXPECT_THAT(fault_of(byte_level().u32("tokenizer.ggml.bos_token_id", 288)),
              HasSubstr("key tokenizer.ggml.bos_token_id): expected a token below 288, found 288"));
  EXPECT_THAT(fault_of(byte_level().boolean("tokenizer.ggml.add_bos_token", true)),
              HasSubstr("lacks a key"));
  const auto with_merges = [](const std::vector<std::string>& merges) {
    GgufBytes file;
    file.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b"});
    return file.texts("tokenizer.ggml.merges", merges);
  };
  for (const char* merge : {"ab", " a", "a ", "a b c"})
    EXPECT_THAT(fault_of(with_merges({merge})), HasSubstr("two pieces with a space between"));
  EXPECT_THAT(fault_of(with_merges({"a c"})), HasSubstr("cannot load the tokenizer"));
  EXPECT_THAT(fault_of(with_merges({}).i32s("tokenizer.ggml.token_type", {1})),
              HasSubstr("expected as many as tokens, 2, found 1"));
}

TEST_F(GgufTokenizer, chat_templates_are_the_files) {
  const auto rendered = [&](const GgufBytes& file, const std::string& request) {
    const auto files = files_of(file);
    const auto chat = ChatTemplate::load(*files, Tokenizer(*files).config());
    return chat ? *chat->render(request) : "none";
  };
  const std::string plain = R"({"messages":[{"role":"user","content":"x"}]})";
  const std::string with_tools =
      R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}]})";
  EXPECT_EQ(rendered(byte_level(), plain), "none");
  GgufBytes file = byte_level();
  file.text("tokenizer.chat_template", "{{ messages[0].content }}{{ eos_token }}");
  EXPECT_EQ(rendered(file, plain), "x<|end|>");
  file.text("tokenizer.chat_template.tool_use", "tools");
  EXPECT_EQ(rendered(file, with_tools), "tools");
  EXPECT_EQ(rendered(file, plain), "x<|end|>");
}

TEST_F(GgufTokenizer, the_tokens_that_end_an_answer_are_listed) {
  GgufBytes file = byte_level();
  file.u32("tokenizer.ggml.eot_token_id", 262);
  EXPECT_EQ(files_of(file)->read("generation_config.json"), R"({"eos_token_id":[261,262]})");
  EXPECT_THAT(*files_of(sentencepiece())->read("generation_config.json"), HasSubstr("[2]"));
}

}  // namespace
}  // namespace foretoken
