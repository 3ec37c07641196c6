#include "tune/record_file.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

RecordIdentity identity() {
  return {.model = "models/a",
          .model_print = "0123",
          .tokenizer_print = "4567",
          .draft = "models/b",
          .draft_print = "89ab",
          .algorithm = "EAGLE3",
          .architecture = "LlamaForCausalLM",
          .backend = "cpu",
          .vocab = 100,
          .steps = 4,
          .topk = 2,
          .max_new_tokens = 8,
          .temperature = 0.5F,
          .stop_tokens = {1, 2}};
}

RecordedText text(std::uint32_t number) {
  RecordedText text{.category = "math <&>",
                    .number = number,
                    .prompt = {3, 4, 5},
                    .output = {6, 7, static_cast<Token>(8 + number)},
                    .trees = {},
                    .tops = {}};
  text.trees.push_back({.rows = {{}, {.parent = 0, .rank = 1}},
                        .tokens = {9, 10, 11, kNoToken},
                        .chances = {0.5F, 0.25F, 1.0F, 0}});
  text.trees.emplace_back();  // nothing was drafted there
  text.tops = {{{6, -0.5F}}, {}, {{8, -1.5F}, {9, -2}}};
  return text;
}

class RecordFileTest : public testing::Test {
 protected:
  std::string bytes_of_record(int texts = 2) const {
    {
      RecordWriter writer(path_, identity());
      for (int i = 0; i < texts; ++i) writer.add(text(static_cast<std::uint32_t>(i)));
    }
    RecordWriter::append_costs(path_, R"({"a": 1})");
    return *read_file(path_);
  }
  static Record parse(const std::string& bytes) {
    return parse_record(std::as_bytes(std::span(bytes)), "file");
  }
  static std::string fault(const std::string& bytes) {
    try {
      parse(bytes);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TestFolder folder_;
  const std::string path_ = folder_.file("record.bin");
};

TEST_F(RecordFileTest, what_was_written_is_read) {
  bytes_of_record();
  const Record record = read_record(path_);
  EXPECT_FALSE(record.is_cut);
  EXPECT_EQ(record.costs, R"({"a": 1})");
  const RecordIdentity here = identity();
  EXPECT_EQ(record.identity.model, here.model);
  EXPECT_EQ(record.identity.model_print, here.model_print);
  EXPECT_EQ(record.identity.tokenizer_print, here.tokenizer_print);
  EXPECT_EQ(record.identity.draft, here.draft);
  EXPECT_EQ(record.identity.draft_print, here.draft_print);
  EXPECT_EQ(record.identity.algorithm, here.algorithm);
  EXPECT_EQ(record.identity.architecture, here.architecture);
  EXPECT_EQ(record.identity.backend, here.backend);
  EXPECT_EQ(record.identity.vocab, 100);
  EXPECT_EQ(record.identity.steps, 4);
  EXPECT_EQ(record.identity.topk, 2);
  EXPECT_EQ(record.identity.max_new_tokens, 8);
  EXPECT_EQ(record.identity.temperature, 0.5F);
  EXPECT_EQ(record.identity.stop_tokens, here.stop_tokens);
  ASSERT_EQ(record.texts.size(), 2U);
  const RecordedText &found = record.texts[1], expected = text(1);
  EXPECT_EQ(found.category, expected.category);
  EXPECT_EQ(found.number, 1U);
  EXPECT_EQ(found.prompt, expected.prompt);
  EXPECT_EQ(found.output, expected.output);
  ASSERT_EQ(found.trees.size(), 2U);
  ASSERT_EQ(found.trees[0].rows.size(), 2U);
  EXPECT_EQ(found.trees[0].rows[1].parent, 0);
  EXPECT_EQ(found.trees[0].rows[1].rank, 1);
  EXPECT_EQ(found.trees[0].tokens, expected.trees[0].tokens);
  EXPECT_EQ(found.trees[0].chances, expected.trees[0].chances);
  EXPECT_TRUE(found.trees[1].empty());
  ASSERT_EQ(found.tops.size(), 3U);
  EXPECT_EQ(found.tops[2][1].token, 9);
  EXPECT_EQ(found.tops[2][1].logprob, -2);
}

// A crash in the middle of a write costs the block that was being written, wherever it is cut.
TEST_F(RecordFileTest, a_cut_tail_is_left_out) {
  const std::string whole = bytes_of_record();
  std::size_t texts = 0;
  int cuts = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    try {
      const Record record = parse(cut);
      EXPECT_GE(record.texts.size(), texts) << size;
      texts = record.texts.size();
      if (record.is_cut) ++cuts;
      EXPECT_TRUE(record.costs.empty());
    } catch (const Error&) {
      EXPECT_EQ(texts, 0U) << "refused after " << size << " bytes, which had been fine";
    }
  }
  EXPECT_EQ(texts, 2U);
  EXPECT_GT(cuts, 100);
}

TEST_F(RecordFileTest, other_files_and_versions_are_refused) {
  EXPECT_EQ(fault("{\"a\": 1}"),
            "not a record that can be read (file): expected a record of `foretoken tune`, found a "
            "file that begins otherwise");
  EXPECT_EQ(fault(""), fault("x"));
  std::string next = bytes_of_record();
  next[16] = 2;
  EXPECT_EQ(fault(next),
            "not a record that can be read (file): expected version 1, found version 2");
  EXPECT_EQ(fault(bytes_of_record().substr(0, 20)),
            "not a record that can be read (file): expected whose texts they are, found the end of "
            "the file");
  EXPECT_NE(fault(bytes_of_record().substr(0, 18)).find("broken record (file)"), std::string::npos);
}

TEST_F(RecordFileTest, a_changed_byte_is_refused) {
  const std::string whole = bytes_of_record();
  for (const double share : {0.2, 0.5, 0.8}) {
    std::string changed = whole;
    const auto at = static_cast<std::size_t>(share * static_cast<double>(whole.size()));
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    bool is_refused = false;
    try {
      is_refused = parse(changed).is_cut;  // where a length has become longer
    } catch (const Error&) {
      is_refused = true;
    }
    EXPECT_TRUE(is_refused) << at;
  }
}

TEST_F(RecordFileTest, a_text_has_a_prompt_and_an_answer) {
  const auto fault_without = [&](const auto& empty) {
    RecordedText bare{
        .category = "a", .number = 0, .prompt = {3}, .output = {6}, .trees = {}, .tops = {}};
    empty(bare);
    {
      RecordWriter writer(path_, identity());
      writer.add(bare);
    }
    return fault(*read_file(path_));
  };
  EXPECT_EQ(fault_without([](RecordedText&) {}), "no error");
  for (const std::string& found : {fault_without([](RecordedText& bare) { bare.prompt.clear(); }),
                                   fault_without([](RecordedText& bare) { bare.output.clear(); })})
    EXPECT_NE(found.find("expected a prompt and an answer"), std::string::npos) << found;
}

TEST_F(RecordFileTest, a_file_that_is_not_there_is_an_error) {
  EXPECT_THROW(read_record(folder_.file("none")), Error);
  EXPECT_THROW(RecordWriter(folder_.file("none/record.bin"), identity()), Error);
}

// Whatever the bytes, checksums made right so that what lies behind them is read: an Error or a
// record, and no memory for what is only announced.
TEST_F(RecordFileTest, hostile_bytes_are_refused) {
  const std::string whole = bytes_of_record(1);
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = whole;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      const std::size_t at = 20 + random() % (changed.size() - 20);
      const unsigned kind = random() % 3;
      changed[at] = static_cast<char>(kind == 0 ? 0xff : kind == 1 ? 0 : random());
    }
    std::size_t place = 20;  // of the blocks
    while (place + 16 <= changed.size()) {
      std::uint64_t length = 0;
      std::memcpy(&length, &changed[place + 8], 8);
      if (length > changed.size() - place - 16) break;
      const auto sum = record_checksum(std::string_view(changed).substr(place + 16, length));
      std::memcpy(&changed[place + 4], &sum, 4);
      place += 16 + length;
    }
    try {
      const Record record = parse(changed);
      for (const RecordedText& text : record.texts)
        for (const RecordedTree& tree : text.trees)
          EXPECT_EQ(tree.tokens.size(), tree.rows.size() * at(record.identity.topk));
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()), "");
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace foretoken
