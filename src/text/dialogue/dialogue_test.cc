// Calls and reasoning that a family's template writes are read back as they were, however the text
// is cut. The templates here write assistant messages as those of the families do.

#include <random>

#include <gtest/gtest.h>
#include <boost/json/serialize.hpp>

#include "base/json_text.h"
#include "base/log.h"
#include "text/chat_template.h"
#include "text/testing/dialogue_kit.h"
#include "text/testing/family_templates.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

namespace json = boost::json;

struct Turn {
  std::string reasoning, content;
  std::vector<std::pair<std::string, std::string>> calls;
};

const std::vector<Turn>& turns() {
  const std::string rich =
      R"j({"city":"5","text":"He said \"hi\"\n\t<b>&amp;</b> </x> \\ / \u00e9 \ud83d\ude00","nested":{"a":[1,2.5,null,true],"b":{}},"flag":false,"none":null,"list":["x","y, z)"],"empty":"","days":-3})j";
  static const std::vector<Turn> all = {
      {"", "Plain.", {}},
      {"Hm.\n\nIs 1 < 2?\nYes <th", "1 < 2 and <tool is no mark, nor <|a.\n\n  Two.", {}},
      {"", "", {{"get_weather", R"({"city":"Paris","days":3})"}}},
      {"Look it up.", "", {{"now", "{}"}}},
      {"Both.", "Let me look.", {{"get_weather", rich}, {"now", "{}"}, {"get_weather", rich}}},
      {"", "One\n\n  two:", {{"say", R"({"text":"\n\n a line \n"})"}}},
  };
  return all;
}

std::shared_ptr<const ToolSchemas> tools() {
  return tools_named(
      {{"get_weather",
        R"({"city":{"type":"string"},"days":{"type":"integer"},"text":{"type":"string"},
            "nested":{"type":"object"},"flag":{"type":"boolean"},"none":{"type":["string","null"]},
            "list":{"anyOf":[{"type":"array"},{"type":"null"}]},"empty":{"enum":["","a"]}})"},
       {"now", ""},
       {"say", R"({"text":{"type":"string"}})"}});
}

json::object message_of(const Turn& turn) {
  json::object message{{"role", "assistant"}, {"content", turn.content}};
  if (!turn.reasoning.empty()) message["reasoning_content"] = turn.reasoning;
  json::array calls;
  for (const auto& [name, arguments] : turn.calls)
    calls.push_back(json::value{{"id", "abcdef123"},
                                {"type", "function"},
                                {"function", {{"name", name}, {"arguments", arguments}}}});
  if (!calls.empty()) message["tool_calls"] = calls;
  return message;
}

std::string rendered(const ChatTemplate& chat, const Turn& turn) {
  const json::object request{
      {"messages",
       json::array{json::object{{"role", "user"}, {"content", "Hi"}}, message_of(turn)}}};
  const auto text = chat.render(json::serialize(request), MessageForm::kOpenAi);
  EXPECT_TRUE(text) << (text ? "" : text.refusal().message);
  return text ? *text : "";
}

std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const auto from = text.rfind(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

void expect_same(const ReadAnswer& read, const Turn& turn, const std::string& text) {
  EXPECT_EQ(read.reasoning, turn.reasoning) << text;
  EXPECT_EQ(read.content, turn.content) << text;
  ASSERT_EQ(read.calls.size(), turn.calls.size()) << text;
  for (std::size_t i = 0; i < turn.calls.size(); ++i) {
    EXPECT_EQ(read.calls[i].first, turn.calls[i].first);
    boost::system::error_code error;
    EXPECT_EQ(json::parse(read.calls[i].second, error), json::parse(turn.calls[i].second))
        << read.calls[i].second << " of " << text;
  }
}

void expect_read_back(const Dialogue& dialogue, const std::string& text, const Turn& turn) {
  const ReadAnswer whole = read_answer(dialogue, {text});
  expect_same(whole, turn, text);
  for (std::size_t size = 1; size < 8; ++size)
    EXPECT_EQ(read_answer(dialogue, pieces_of(text, size)), whole) << size << ": " << text;
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    const std::string_view view(text);
    ASSERT_EQ(read_answer(dialogue, {view.substr(0, cut), view.substr(cut)}), whole)
        << cut << ": " << text;
  }
}

class DialogueTest : public testing::TestWithParam<Family> {
 protected:
  DialogueTest() { set_log_level(LogLevel::kOff); }
  ~DialogueTest() override { set_log_level(LogLevel::kInfo); }
};

TEST_P(DialogueTest, what_a_template_wrote_is_read_back_however_it_is_cut) {
  const Family& family = GetParam();
  const ChatTemplate chat(family.source, {});
  for (Turn turn : turns()) {
    if (family.reasoning.empty()) turn.reasoning.clear();
    if (family.calls.empty()) turn.calls.clear();
    const std::string text = between(rendered(chat, turn), "<A>", "<E>");
    for (const bool whole_calls : {false, true}) {
      Dialogue dialogue;
      dialogue.reasoning = find_reasoning_style(family.reasoning);
      dialogue.calls = find_call_style(family.calls);
      dialogue.call_options = {.tools = tools(), .whole_calls = whole_calls};
      // Where the template opened the reasoning, the answer begins behind the mark.
      expect_read_back(dialogue, text, turn);
      if (dialogue.reasoning == nullptr || dialogue.reasoning->open.empty()) continue;
      const std::string_view open = dialogue.reasoning->open;
      if (!text.starts_with(open)) continue;
      dialogue.begins_inside = true;
      expect_read_back(dialogue, text, turn);
      expect_read_back(dialogue, text.substr(open.size()), turn);
    }
  }
}

TEST_P(DialogueTest, a_call_that_is_cut_off_is_shown_as_far_as_it_goes) {
  const Family& family = GetParam();
  if (family.calls.empty()) return;
  const ChatTemplate chat(family.source, {});
  const std::string text = between(rendered(chat, turns()[2]), "<A>", "<E>");
  for (const bool whole_calls : {false, true}) {
    Dialogue dialogue;
    dialogue.calls = find_call_style(family.calls);
    dialogue.call_options = {.tools = tools(), .whole_calls = whole_calls};
    std::string before;
    for (std::size_t size = 1; size <= text.size(); ++size) {
      const ReadAnswer read =
          read_answer(dialogue, {std::string_view(text).substr(0, size)}, Ending::kCut);
      ASSERT_LE(read.calls.size(), 1U);
      if (read.calls.empty()) continue;
      EXPECT_EQ(read.content, "");
      EXPECT_EQ(read.calls[0].first, "get_weather");
      EXPECT_EQ(read.calls[0].second.substr(0, before.size()), before);
      before = read.calls[0].second;
    }
    EXPECT_EQ(json::parse(before), json::parse(turns()[2].calls[0].second));
  }
}

TEST_P(DialogueTest, calls_of_what_is_no_tool_are_text) {
  const Family& family = GetParam();
  if (family.calls.empty()) return;
  const ChatTemplate chat(family.source, {});
  const Turn turn{"", "Look.", {{"unknown", R"({"a":1})"}}};
  const std::string text = between(rendered(chat, turn), "<A>", "<E>");
  Dialogue dialogue;
  dialogue.calls = find_call_style(family.calls);
  dialogue.call_options = {.tools = tools()};
  const ReadAnswer whole = read_answer(dialogue, {text});
  EXPECT_TRUE(whole.calls.empty());
  EXPECT_NE(whole.content.find("unknown"), std::string::npos) << whole.content;
  if (!dialogue.calls->has_channels && dialogue.calls->frame.empty()) {
    EXPECT_EQ(whole.content, text);
  }
  for (std::size_t cut = 1; cut < text.size(); ++cut)
    EXPECT_EQ(read_answer(dialogue, {std::string_view(text).substr(0, cut),
                                     std::string_view(text).substr(cut)}),
              whole);
}

// What a model writes wrong: pieces are lost, come twice, or marks stand anywhere.
std::string damaged(std::string text, const std::vector<std::string_view>& marks,
                    std::mt19937& random) {
  const auto any = [&](std::size_t below) { return below == 0 ? 0 : random() % below; };
  for (std::size_t edits = 1 + any(3); edits > 0; --edits) {
    const std::size_t at = any(text.size()), size = any(12);
    const std::string piece = text.substr(at, size);
    const std::size_t kind = any(3);
    if (kind == 0) text.erase(at, size);
    if (kind == 1) text.insert(any(text.size()), piece);
    if (kind == 2) text.insert(at, marks[any(marks.size())]);
  }
  return text;
}

TEST_P(DialogueTest, damage_is_read_the_same_however_it_is_cut) {
  const Family& family = GetParam();
  const ChatTemplate chat(family.source, {});
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const bool whole_calls = i % 2 == 0;
    Dialogue dialogue;
    dialogue.reasoning = find_reasoning_style(family.reasoning);
    dialogue.begins_inside = i % 3 == 0;
    dialogue.calls = find_call_style(family.calls);
    dialogue.call_options = {.tools = tools(), .whole_calls = whole_calls};
    const Turn& turn = turns()[3 + static_cast<std::size_t>(i) % 3];
    const std::string text =
        damaged(between(rendered(chat, turn), "<A>", "<E>"), marks_of(dialogue), random);
    for (const Ending ending : {Ending::kComplete, Ending::kCut}) {
      const ReadAnswer read = read_answer(dialogue, {text}, ending);
      for (const std::size_t size : {1, 2, 5})
        ASSERT_EQ(read_answer(dialogue, pieces_of(text, size), ending), read) << text;
      if (!whole_calls || ending == Ending::kCut || !is_valid_utf8(text)) continue;
      for (const auto& [name, arguments] : read.calls) {
        JsonFault fault;
        EXPECT_TRUE(parse_json(arguments, fault)) << arguments << " of " << text;
      }
    }
  }
}

TEST_P(DialogueTest, the_style_is_told_from_the_template) {
  const Family& family = GetParam();
  if (family.calls.empty()) return;
  const CallStyle* told = call_style_of_template(family.source);
  ASSERT_NE(told, nullptr);
  // Hermes' and Qwen's are one format.
  if (told->name != "qwen25") {
    EXPECT_EQ(told->name, family.told.empty() ? family.calls : family.told);
  }
}

std::string name_of(const testing::TestParamInfo<Family>& info) {
  std::string name(info.param.calls);
  if (name.empty()) name = info.param.reasoning;
  std::erase(name, '-');
  return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Families, DialogueTest, testing::ValuesIn(families()), name_of);
INSTANTIATE_TEST_SUITE_P(Later, DialogueTest, testing::ValuesIn(later_families()), name_of);

// The templates of real models, where their files are at hand.
struct RealTemplate {
  std::string_view file, calls, reasoning, begin, end;
};

TEST(DialogueOfModels, what_real_templates_wrote_is_read_back) {
  const std::filesystem::path data = FORETOKEN_SHARED_DATA;
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no shared data at " << data;
  for (const auto& [file, calls, reasoning, begin, end] :
       std::vector<RealTemplate>{{"qwen2/qwen3_tokenizer_config.json", "qwen25", "qwen3",
                                  "<|im_start|>assistant\n", "<|im_end|>"},
                                 {"qwen2/qwen2.5_tokenizer_config.json", "qwen25", "",
                                  "<|im_start|>assistant", "<|im_end|>"},
                                 {"deepseek/r1_tokenizer_config.json", "deepseekv3", "",
                                  "<｜Assistant｜>", "<｜end▁of▁sentence｜>"}}) {
    const auto config = read_json_file(data / "tokenizers" / file);
    ASSERT_TRUE(config) << file;
    const std::string source(config->at("chat_template").as_string());
    const ChatTemplate chat(source, {});
    EXPECT_EQ(call_style_of_template(source)->name, calls);
    for (Turn turn : turns()) {
      if (reasoning.empty()) turn.reasoning.clear();
      std::string text = between(rendered(chat, turn), begin, end);
      if (calls == "qwen25" && reasoning.empty() && text.starts_with('\n')) text.erase(0, 1);
      Dialogue dialogue;
      dialogue.calls = find_call_style(calls);
      dialogue.call_options = {.tools = tools()};
      if (!reasoning.empty()) dialogue.reasoning = find_reasoning_style(reasoning);
      expect_read_back(dialogue, text, turn);
    }
  }
}

}  // namespace
}  // namespace foretoken
