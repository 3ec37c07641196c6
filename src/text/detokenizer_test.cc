#include "text/detokenizer.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "text/testing/test_tokenizers.h"
#include "text/text_stream.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

TestFolder& byte_level_folder() {
  static TestFolder folder;
  folder.write("tokenizer.json", tiny_byte_level_json());
  return folder;
}

TestFolder& sentencepiece_folder() {
  static TestFolder folder;
  folder.write("tokenizer.model", tiny_sentencepiece_model());
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  return folder;
}

// Every piece is valid UTF-8 and the pieces join to the full decoding.
void expect_equal_to_decode(const Tokenizer& tokenizer, const std::vector<Token>& tokens,
                            SpecialText special) {
  Detokenizer detokenizer(tokenizer, special);
  std::string joined;
  for (Token token : tokens) {
    const std::string text = detokenizer.push(token);
    ASSERT_TRUE(is_valid_utf8(text));
    joined += text;
  }
  const std::string rest = detokenizer.finish();
  ASSERT_TRUE(is_valid_utf8(rest));
  ASSERT_EQ(joined + rest, tokenizer.decode(tokens, special));
}

void expect_equal_for_random_tokens(const Tokenizer& tokenizer, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  const auto ids = static_cast<Token>(tokenizer.vocab_size() + 3);  // some that do not exist
  std::vector<Token> bytes;
  for (Token id = 0; id < ids; ++id) {
    if (tokenizer.is_byte(id) || tokenizer.piece(id).size() == 1) bytes.push_back(id);
  }
  for (int round = 0; round < rounds; ++round) {
    std::vector<Token> tokens;
    for (std::size_t count = random() % 40; count > 0; --count) {
      const bool is_byte = !bytes.empty() && random() % 3 == 0;
      tokens.push_back(is_byte ? bytes[random() % bytes.size()]
                               : static_cast<Token>(random() % static_cast<unsigned>(ids)));
    }
    expect_equal_to_decode(tokenizer, tokens,
                           round % 2 == 0 ? SpecialText::kSkip : SpecialText::kKeep);
  }
}

TEST(Detokenizer, random_tokens_join_to_the_full_decoding) {
  expect_equal_for_random_tokens(Tokenizer(byte_level_folder().path()), 1, 2000);
  expect_equal_for_random_tokens(Tokenizer(sentencepiece_folder().path()), 2, 2000);
}

TEST(Detokenizer, real_texts_join_to_the_full_decoding) {
  for (TestFolder* folder : {&byte_level_folder(), &sentencepiece_folder()}) {
    const Tokenizer tokenizer(folder->path());
    for (std::string_view text :
         {"hello w\u00E9rld", " \u4E2D\u6587 \U0001F600\U0001F468\u200D\U0001F469", "\n\n a"}) {
      expect_equal_to_decode(tokenizer, *tokenizer.encode(text, AddSpecial::kYes),
                             SpecialText::kSkip);
    }
  }
}

TEST(Detokenizer, half_a_character_is_held_back) {
  const Tokenizer tokenizer(byte_level_folder().path());
  const auto tokens = *tokenizer.encode("\U0001F600", AddSpecial::kNo);
  ASSERT_EQ(tokens.size(), 3U);  // F0 9F | 98 | 80
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(tokens[0]), "");
  EXPECT_EQ(detokenizer.push(tokens[1]), "");
  EXPECT_EQ(detokenizer.push(tokens[2]), "\U0001F600");
  detokenizer.push(tokens[0]);
  EXPECT_EQ(detokenizer.finish(), "\uFFFD")
      << "an unfinished character at the end, as decode shows it";
}

TEST(Detokenizer, only_the_first_space_of_a_sentencepiece_text_goes) {
  const Tokenizer tokenizer(sentencepiece_folder().path());
  Detokenizer detokenizer(tokenizer);
  const Token hello = *tokenizer.token_id("\u2581hello");
  EXPECT_EQ(detokenizer.push(*tokenizer.bos()), "");
  EXPECT_EQ(detokenizer.push(hello), "hello");
  EXPECT_EQ(detokenizer.push(hello), " hello");
}

TEST(Detokenizer, an_unknown_decoder_is_followed_through_the_tokenizer) {
  TestFolder folder;
  std::string text = tiny_byte_level_json();
  const std::string from =
      R"("decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(
      at, from.size(),
      R"("decoder":{"type":"Sequence","decoders":[{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})");
  folder.write("tokenizer.json", text);
  const Tokenizer tokenizer(folder.path());
  ASSERT_EQ(tokenizer.piece_join(), PieceJoin::kContextual);
  for (std::string_view sample : {"hello w\u00E9rld \U0001F600", "abc"}) {
    expect_equal_to_decode(tokenizer, *tokenizer.encode(sample, AddSpecial::kNo),
                           SpecialText::kSkip);
  }
}

std::shared_ptr<const StopStrings> stops_of(std::vector<std::string> stops) {
  return std::make_shared<const StopStrings>(std::move(stops));
}

TEST(TextStream, a_stop_is_reported_at_the_token_that_completes_it) {
  for (TestFolder* folder : {&byte_level_folder(), &sentencepiece_folder()}) {
    const Tokenizer tokenizer(folder->path());
    const auto tokens = *tokenizer.encode("hello \U0001F600 wor", AddSpecial::kNo);
    const auto stop_at = *tokenizer.encode("hello \U0001F600", AddSpecial::kNo);
    TextStream stream(tokenizer, {.stops = stops_of({"zzz", "\U0001F600"})});
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const StopScan scan = stream.push(tokens[i]);
      text += scan.text;
      if (!scan.stop) continue;
      EXPECT_EQ(*scan.stop, 1);
      EXPECT_EQ(i + 1, stop_at.size()) << "not one token later";
      break;
    }
    EXPECT_EQ(text, "hello ");
    EXPECT_EQ(stream.finish().text, "");
  }
}

TEST(TextStream, text_without_a_stop_arrives_whole) {
  const Tokenizer tokenizer(byte_level_folder().path());
  const std::string text = "hello hell w\u00E9 he";
  TextStream stream(tokenizer, {.stops = stops_of({"hello!", "hex"})});
  std::string joined;
  const std::vector<Token> tokens = *tokenizer.encode(text, AddSpecial::kNo);
  for (Token token : tokens) joined += stream.push(token).text;
  EXPECT_EQ(joined + stream.finish().text, text);
}

TEST(Utf8, broken_parts_become_one_replacement_each) {
  EXPECT_EQ(lossy_utf8("a\xE2\x82z"), "a\uFFFDz");
  EXPECT_EQ(lossy_utf8("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(lossy_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(lossy_utf8("\xC0\x80\xF5"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));
  EXPECT_TRUE(is_valid_utf8("\xF4\x8F\xBF\xBF\u00E9"));
}

}  // namespace
}  // namespace foretoken
