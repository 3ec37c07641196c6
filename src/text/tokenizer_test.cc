#include "text/tokenizer.h"

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "text/sentencepiece_model.h"
#include "text/testing/test_tokenizers.h"
#include "text/tokenizer_json.h"

namespace foretoken {
namespace {

std::vector<Token> encode(const Tokenizer& tokenizer, std::string_view text,
                          AddSpecial special = AddSpecial::kNo) {
  const auto tokens = tokenizer.encode(text, special);
  EXPECT_TRUE(tokens) << text;
  return tokens ? *tokens : std::vector<Token>{};
}

std::string failure(const std::filesystem::path& path) {
  try {
    Tokenizer tokenizer(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

constexpr std::string_view kByteLevelConfig =
    R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|bos|>", "eos_token": {"content": "<|eos|>"}})";

TEST(Tokenizer, byte_level_text_goes_there_and_back) {
  TestFolder folder;
  folder.write("tokenizer.json", tiny_byte_level_json());
  folder.write("tokenizer_config.json", kByteLevelConfig);
  const Tokenizer tokenizer(folder.path());
  EXPECT_EQ(tokenizer.vocab_size(), 256 + 7 + 2);
  EXPECT_EQ(encode(tokenizer, "hello"), (std::vector<Token>{259}));
  EXPECT_EQ(tokenizer.piece(262), "\xF0\x9F") << "part of a character";
  for (std::string_view text : {"hello w\u00E9 \U0001F600\n", "", " ", "<|eos|>"}) {
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text), SpecialText::kKeep), text);
  }
  EXPECT_EQ(tokenizer.token_text(260), "\u0120w");
  EXPECT_EQ(tokenizer.token_id("\u0120w"), 260);
  EXPECT_FALSE(tokenizer.token_id("nothing"));
}

// The tiny byte-level tokenizer with one thing replaced in its JSON.
std::string changed_json(std::string_view from, std::string_view to) {
  std::string json = tiny_byte_level_json();
  const auto at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(Tokenizer, no_text_has_fewer_tokens_than_its_bytes_say) {
  TestFolder plain, composed, pieces;
  plain.write("tokenizer.json", tiny_byte_level_json());
  composed.write("tokenizer.json",
                 changed_json(R"("normalizer":null)", R"("normalizer":{"type":"NFC"})"));
  pieces.write("tokenizer.model", tiny_sentencepiece_model());
  pieces.write("tokenizer_config.json", R"({"tokenizer_class":"LlamaTokenizer"})");
  const std::vector<std::string_view> words = {"hello",
                                               " hello",
                                               "a",
                                               " ",
                                               "   ",
                                               "\n",
                                               "\u00E9",
                                               "e\u0301",
                                               "\u2581",
                                               "\u2581\u2581\u2581",
                                               "\u4F60\u597D",
                                               "\u1FBE\u0308\u0301",
                                               "\u212A",
                                               "<|eos|>",
                                               "<s>",
                                               "\U0001F600",
                                               "\u1100\u1161\u11A8",
                                               "world",
                                               "\t",
                                               "\u00A0",
                                               "\u3000",
                                               "\u0301"};
  std::mt19937 random(3);
  for (const TestFolder* folder : {&plain, &composed, &pieces}) {
    folder->write("generation_config.json", "{}");
    const Tokenizer tokenizer(folder->path());
    for (int round = 0; round < 400; ++round) {
      std::string text;
      const auto single = words[random() % words.size()];
      for (std::size_t count = random() % 12; count > 0; --count)
        text += round % 3 == 0 ? single : words[random() % words.size()];
      ASSERT_LE(tokenizer.least_tokens(text), encode(tokenizer, text).size()) << text;
    }
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "hello ";
    EXPECT_GE(tokenizer.least_tokens(many), 500U) << "or it would say little";
  }
}

TEST(Tokenizer, where_text_may_vanish_nothing_is_said_of_its_tokens) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("normalizer":null)", R"("normalizer":{"type":"Lowercase"})"},
           {R"("normalizer":null)", R"("normalizer":{"type":"StripAccents"})"},
           {R"("rstrip":false)", R"("rstrip":true)"}}) {
    TestFolder folder;
    folder.write("tokenizer.json", changed_json(from, to));
    EXPECT_EQ(Tokenizer(folder.path()).least_tokens("hello hello hello"), 0U) << to;
  }
}

TEST(Tokenizer, special_tokens_are_known_and_skipped) {
  TestFolder folder;
  folder.write("tokenizer.json", tiny_byte_level_json());
  folder.write("tokenizer_config.json", kByteLevelConfig);
  const Tokenizer tokenizer(folder.path());
  EXPECT_EQ(tokenizer.bos(), 263);
  EXPECT_EQ(tokenizer.eos(), 264);
  EXPECT_TRUE(tokenizer.is_special(264));
  const std::vector<Token> tokens = {263, 259, 264, -1, 100000};
  EXPECT_EQ(tokenizer.decode(tokens, SpecialText::kSkip), "hello");
  EXPECT_EQ(tokenizer.decode(tokens, SpecialText::kKeep), "<|bos|>hello<|eos|>");
}

TEST(Tokenizer, split_special_tokens_encodes_them_as_text) {
  TestFolder folder;
  folder.write("tokenizer.json", tiny_byte_level_json());
  folder.write("tokenizer_config.json", R"({"split_special_tokens": true})");
  EXPECT_EQ(encode(Tokenizer(folder.path()), "<|eos|>").size(), 7U);
}

TEST(Tokenizer, added_tokens_of_the_config_extend_the_vocabulary) {
  TestFolder folder;
  folder.write("tokenizer.json", tiny_byte_level_json());
  folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {
      "266": {"content": "<think>", "special": false}, "265": {"content": "<|pad|>", "special": true}}})");
  const Tokenizer tokenizer(folder.path());
  EXPECT_EQ(encode(tokenizer, "hello<think><|pad|>"), (std::vector<Token>{259, 266, 265}));
  EXPECT_FALSE(tokenizer.is_special(266));
  EXPECT_TRUE(tokenizer.is_special(265));
}

TEST(Tokenizer, sentencepiece_merges_go_by_score_whatever_the_order_of_the_vocabulary) {
  SentencePieceModel model{
      .pieces = {{"<unk>", 0, SentencePiece::kUnknown}, {"<s>", 0, SentencePiece::kControl}},
      .type = SentencePieceModel::kBpe,
      .byte_fallback = true};
  model.pieces.push_back({"</s>", 0, SentencePiece::kControl});
  for (const char* letter : {"a", "b", "c"}) model.pieces.push_back({letter, -9});
  model.pieces.push_back({"ab", -5});
  model.pieces.push_back({"bc", -1});
  const std::string json = tokenizer_json_from_sentencepiece(model, {}, "here");
  EXPECT_NE(json.find(R"("merges":[["b","c"],["a","b"]])"), std::string::npos) << json;
}

TEST(Tokenizer, sentencepiece_models_encode_like_llama_2) {
  TestFolder folder;
  folder.write("tokenizer.model", tiny_sentencepiece_model());
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer"})");
  const Tokenizer tokenizer(folder.path());
  const Token hello = *tokenizer.token_id("\u2581hello");
  const Token world = *tokenizer.token_id("\u2581world");
  EXPECT_EQ(encode(tokenizer, "hello world", AddSpecial::kYes),
            (std::vector<Token>{1, hello, world}));
  EXPECT_EQ(encode(tokenizer, "hello\n").back(), 3 + 10) << "a byte token";
  for (std::string_view text : {"hello world", "  two  spaces ", "\u4E2D\n\U0001F600x"}) {
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text, AddSpecial::kYes), SpecialText::kSkip),
              text);
  }
  EXPECT_EQ(tokenizer.piece(hello), " hello");
}

TEST(Tokenizer, the_config_decides_which_special_tokens_llama_adds) {
  TestFolder folder;
  folder.write("tokenizer.model", tiny_sentencepiece_model());
  folder.write(
      "tokenizer_config.json",
      R"({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": false, "add_eos_token": true})");
  const auto tokens = encode(Tokenizer(folder.path()), "hello", AddSpecial::kYes);
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens.back(), 2);
}

// `json` with another pre-tokenizer, post-processor or decoder than ByteLevel.
std::string with_step(std::string json, std::string_view name, std::string_view step) {
  const std::string key = "\"" + std::string(name) + "\":";
  const std::size_t from = json.find(key) + key.size();
  return json.replace(from, json.find('}', from) + 1 - from, step);
}

// The tiny byte-level tokenizer with <|eos|> written behind the text.
std::string framing_json() {
  return with_step(tiny_byte_level_json(), "post_processor", R"({"type":"TemplateProcessing",
      "single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<|eos|>","type_id":0}}],
      "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
      "special_tokens":{"<|eos|>":{"id":"<|eos|>","ids":[264],"tokens":["<|eos|>"]}}})");
}

TEST(Tokenizer, a_post_processor_is_replaced_only_where_the_config_asks_for_another) {
  TestFolder folder;
  folder.write("tokenizer.json", framing_json());
  const auto framed = [&](std::string_view more) {
    folder.write("tokenizer_config.json",
                 R"({"tokenizer_class": "LlamaTokenizer", "bos_token": "<|bos|>",
                     "eos_token": "<|eos|>")" +
                     std::string(more) + "}");
    return encode(Tokenizer(folder.path()), "hello", AddSpecial::kYes);
  };
  const std::vector<Token> as_the_file_says = {259, 264};
  EXPECT_EQ(framed(""), as_the_file_says);
  EXPECT_EQ(framed(R"(, "add_bos_token": null)"), as_the_file_says);
  EXPECT_EQ(framed(R"(, "add_bos_token": true)"), (std::vector<Token>{263, 259}));
  EXPECT_EQ(framed(R"(, "add_eos_token": false)"), (std::vector<Token>{263, 259}));
  EXPECT_EQ(framed(R"(, "add_bos_token": false)"), (std::vector<Token>{259}));
  EXPECT_EQ(framed(R"(, "add_bos_token": true, "backend": "tokenizers")"), as_the_file_says);
  folder.write("tokenizer.json", with_step(tiny_byte_level_json(), "post_processor", "null"));
  EXPECT_EQ(framed(""), (std::vector<Token>{263, 259})) << "the class's frame where there is none";
  EXPECT_EQ(framed(R"(, "backend": "tokenizers")"), (std::vector<Token>{259}));
}

TEST(Tokenizer, a_first_space_is_made_as_the_file_says_unless_the_config_says_otherwise) {
  const std::string with_space =
      changed_json(R"("add_prefix_space":false)", R"("add_prefix_space":true)");
  const auto tokens = [](std::string_view json, std::string_view config) {
    TestFolder folder;
    folder.write("tokenizer.json", json);
    folder.write("tokenizer_config.json", config);
    return encode(Tokenizer(folder.path()), "w");
  };
  const std::vector<Token> spaced = {260};
  EXPECT_EQ(tokens(with_space, "{}"), spaced);
  EXPECT_EQ(tokens(with_space, R"({"add_prefix_space": null})"), spaced);
  EXPECT_NE(tokens(with_space, R"({"add_prefix_space": false})"), spaced);
  EXPECT_EQ(tokens(with_space, R"({"add_prefix_space": false, "backend": "tokenizers"})"), spaced);
  EXPECT_EQ(tokens(tiny_byte_level_json(), R"({"add_prefix_space": true})"), spaced);
  EXPECT_NE(tokens(tiny_byte_level_json(), "{}"), spaced);
}

TEST(Tokenizer, byte_level_files_are_not_taken_for_llama_2) {
  TestFolder folder;
  folder.write("config.json", R"({"model_type": "llama"})");
  const auto expect_as_it_is = [&](std::string_view json) {
    folder.write("tokenizer.json", json);
    const Tokenizer tokenizer(folder.path());
    EXPECT_EQ(tokenizer.config().tokenizer_class, "");
    EXPECT_EQ(tokenizer.config().specials.size(), 0U);
    EXPECT_EQ(tokenizer.vocab_size(), 265);
    EXPECT_EQ(encode(tokenizer, "<unk>").size(), 5U);
    EXPECT_EQ(encode(tokenizer, "hello", AddSpecial::kYes), (std::vector<Token>{259, 264}));
  };
  expect_as_it_is(framing_json());
  folder.write("tokenizer_config.json", R"({"model_max_length": 8192})");
  expect_as_it_is(framing_json());
  // Either step tells, in a sequence as well: Llama 3 splits the text before the bytes.
  const std::string bytes =
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  const std::string decoders = R"({"type":"Sequence","decoders":[)" + bytes + "]}";
  const std::string splits = R"({"type":"Sequence","pretokenizers":[)" + bytes + "]}";
  const std::string in_front = with_step(framing_json(), "pre_tokenizer", splits);
  expect_as_it_is(with_step(in_front, "decoder", "null"));
  expect_as_it_is(with_step(in_front, "decoder", decoders));
}

TEST(Tokenizer, default_special_tokens_are_those_of_the_vocabulary) {
  TestFolder folder;
  folder.write("tokenizer.json", framing_json());
  const auto load = [&](std::string_view config) {
    folder.write("tokenizer_config.json", config);
    return Tokenizer(folder.path());
  };
  const Tokenizer llama = load(R"({"tokenizer_class": "LlamaTokenizer", "eos_token": "<|eos|>"})");
  EXPECT_EQ(llama.vocab_size(), 265);
  EXPECT_EQ(llama.bos(), std::nullopt);
  EXPECT_EQ(llama.eos(), 264);
  const Tokenizer listed = load(R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": true,
      "added_tokens_decoder": {"265": {"content": "<s>", "special": true}}})");
  EXPECT_EQ(listed.bos(), 265);
  EXPECT_EQ(encode(listed, "hello", AddSpecial::kYes), (std::vector<Token>{265, 259}));
}

TEST(Tokenizer, without_a_named_bos_a_file_keeps_its_frame) {
  TestFolder folder;
  const auto framed = [&](std::string_view json, std::string_view more) {
    folder.write("tokenizer.json", json);
    folder.write(
        "tokenizer_config.json",
        R"({"tokenizer_class": "LlamaTokenizer", "bos_token": null)" + std::string(more) + "}");
    return encode(Tokenizer(folder.path()), "hello", AddSpecial::kYes);
  };
  EXPECT_EQ(framed(framing_json(), ""), (std::vector<Token>{259, 264}));
  EXPECT_EQ(framed(framing_json(), R"(, "add_bos_token": true)"), (std::vector<Token>{259, 264}));
  const std::string bare = with_step(tiny_byte_level_json(), "post_processor", "null");
  EXPECT_EQ(framed(bare, ""), (std::vector<Token>{259}));
}

TEST(Tokenizer, vocab_and_merges_follow_the_tokenizer_class) {
  TestFolder folder;
  folder.write("vocab.json", R"({"1": 0, "2": 1, "12": 2, "123": 3, "3": 4})");
  folder.write("merges.txt", "#version: 0.2\n1 2\n12 3\n");
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  EXPECT_EQ(encode(Tokenizer(folder.path()), "123"), (std::vector<Token>{0, 1, 4}))
      << "digits one by one";
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
  EXPECT_EQ(encode(Tokenizer(folder.path()), "123"), (std::vector<Token>{3})) << "digits by threes";
  folder.write("tokenizer_config.json", R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_NE(failure(folder.path()).find("found BertTokenizer"), std::string::npos);
}

TEST(Tokenizer, text_that_is_not_utf8_is_refused) {
  TestFolder folder;
  folder.write("tokenizer.json", tiny_byte_level_json());
  const auto tokens = Tokenizer(folder.path()).encode("ab\xFFz", AddSpecial::kNo);
  ASSERT_FALSE(tokens);
  EXPECT_NE(tokens.refusal().message.find("not valid UTF-8 at byte 2"), std::string::npos);
}

TEST(Tokenizer, missing_and_broken_files_are_named) {
  TestFolder folder;
  EXPECT_NE(failure(folder.file("absent")).find("no tokenizer"), std::string::npos);
  EXPECT_NE(failure(folder.path()).find("found none of them"), std::string::npos);
  folder.write("tokenizer.model", "IQ== 0\n");
  EXPECT_NE(failure(folder.path()).find("a tokenizer.model of another kind"), std::string::npos);
  const std::string whole = tiny_byte_level_json();
  folder.write("tokenizer.json", whole.substr(0, whole.size() / 2));
  EXPECT_NE(failure(folder.path()).find("tokenizer.json"), std::string::npos);
  folder.write("tokenizer.json", whole);
  folder.write("tokenizer_config.json", R"({"add_bos_token": "yes"})");
  EXPECT_NE(failure(folder.path()).find("\"add_bos_token\""), std::string::npos);
  folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "a"}}})");
  EXPECT_NE(failure(folder.path()).find("expected a number, found x"), std::string::npos);
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "LlamaTokenizer", "bos_token": "<nowhere>"})");
  EXPECT_EQ(failure(folder.path()), "no error")
      << "special tokens outside the vocabulary are added";
  folder.write("tokenizer_config.json", "[1]");
  EXPECT_NE(failure(folder.path()).find("expected an object"), std::string::npos);
}

TEST(Tokenizer, a_frame_of_tokens_without_names_cannot_be_built) {
  TestFolder folder;
  folder.write("tokenizer.model", tiny_sentencepiece_model());
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "LlamaTokenizer", "bos_token": null})");
  EXPECT_NE(failure(folder.path()).find("expected bos_token"), std::string::npos);
}

TEST(Tokenizer, damaged_files_never_do_worse_than_an_error) {
  std::mt19937 random(3);
  TestFolder folder;
  const std::string tokenizer_json = tiny_byte_level_json();
  const std::string model = tiny_sentencepiece_model();
  for (int round = 0; round < 300; ++round) {
    const bool is_json = round % 2 == 0;
    std::string bytes = is_json ? tokenizer_json : model;
    for (std::size_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 20);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 20));
      }
    }
    std::filesystem::remove(folder.file("tokenizer.json"));
    folder.write(is_json ? "tokenizer.json" : "tokenizer.model", bytes);
    try {
      const Tokenizer tokenizer(folder.path());
      const auto tokens = tokenizer.encode("hello w\u00E9 \U0001F600", AddSpecial::kYes);
      if (tokens) tokenizer.decode(*tokens, SpecialText::kKeep);
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 10U);
    }
  }
}

TEST(Tokenizer, many_threads_may_share_one) {
  TestFolder folder;
  folder.write("tokenizer.model", tiny_sentencepiece_model());
  const Tokenizer tokenizer(folder.path());
  const auto expected = encode(tokenizer, "hello world hello");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(encode(tokenizer, "hello world hello"), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace foretoken
