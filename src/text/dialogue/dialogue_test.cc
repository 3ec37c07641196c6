// Calls and reasoning that a family's template writes are read back as they were, however the text
// is cut. The templates here write assistant messages as those of the families do.

#include <gtest/gtest.h>
#include <boost/json/serialize.hpp>

#include "base/json_text.h"
#include "base/log.h"
#include "text/chat_template.h"
#include "text/testing/dialogue_kit.h"

namespace foretoken {
namespace {

namespace json = boost::json;

struct Family {
  std::string_view calls, reasoning;  // names of styles; empty: none
  std::string_view source;            // writes <A>, an assistant's message, <E>
  std::string_view told = {};  // what the template tells, where families share a form; empty: calls
};

// What messages of most families begin with.
#define THINK                                                                    \
  "{% for m in messages %}{% if m.role == 'assistant' %}<A>"                     \
  "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n" \
  "{% endif %}{{ m.content }}"
#define BEGIN "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
#define VALUE "{{ v if v is string else v | tojson }}"
#define CALLS "{% for c in m.tool_calls or [] %}{% set f = c.function %}"
#define END "{% endfor %}<E>{% else %}{{ m.content }}{% endif %}{% endfor %}"

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"qwen25", "qwen3",
       THINK CALLS "\n<tool_call>\n{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | "
                   "tojson }}}\n</tool_call>" END},
      {"hermes", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}" CALLS
       "\n<tool_call>\n{\"arguments\": {{ f.arguments | tojson }}, \"name\": \"{{ f.name "
       "}}\"}\n</tool_call>" END},
      {"qwen", "qwen3-thinking",
       THINK CALLS
       "<tool_call>{\"name\": \"{{ f.name }}\", \"parameters\": {{ f.arguments | tojson "
       "| tojson }}}</tool_call>" END},
      {"llama3", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}"
       "{% if m.tool_calls %}<|python_tag|>{% endif %}" CALLS
       "{{ '; ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"parameters\": {{ f.arguments | "
       "tojson }}}" END},
      {"llama4", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}"
       "{% if m.tool_calls %}<|python_start|>[{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{{ f.name }}({% for k, v in f.arguments | items %}"
       "{{ ', ' if not loop.first }}{{ k }}={{ v | tojson }}{% endfor %})"
       "{{ ']<|python_end|>' if loop.last }}" END},
      {"mistral", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}"
       "{% if m.tool_calls %}[TOOL_CALLS] [{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | "
       "tojson }}, \"id\": \"{{ c.id }}\"}{{ ']' if loop.last }}" END},
      {"mistral", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}" CALLS
       "[TOOL_CALLS]{{ f.name }}[CALL_ID]{{ c.id }}[ARGS]{{ f.arguments | tojson }}" END},
      {"deepseekv3", "deepseek-r1",
       THINK "{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% endif %}" CALLS
             "{{ '\n' if not loop.first }}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ f.name "
             "}}\n```json\n{{ f.arguments | tojson }}\n```<｜tool▁call▁end｜>"
             "{{ '<｜tool▁calls▁end｜>' if loop.last }}" END},
      {"deepseekv31", "deepseek-v3",
       THINK "{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% endif %}" CALLS
             "<｜tool▁call▁begin｜>{{ f.name }}<｜tool▁sep｜>{{ f.arguments | tojson "
             "}}<｜tool▁call▁end｜>{{ '<｜tool▁calls▁end｜>' if loop.last }}" END},
      {"kimi_k2", "kimi_k2",
       THINK "{% if m.tool_calls %}<|tool_calls_section_begin|>{% endif %}" CALLS
             "<|tool_call_begin|>functions.{{ f.name }}:{{ loop.index0 "
             "}}<|tool_call_argument_begin|>{{ f.arguments | tojson }}<|tool_call_end|>"
             "{{ '<|tool_calls_section_end|>' if loop.last }}" END},
      {"", "kimi",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
       "{% if m.reasoning_content %}◁think▷{{ m.reasoning_content }}◁/think▷{% endif %}"
       "{{ m.content }}" CALLS END},
      {"glm45", "glm45",
       THINK CALLS "\n<tool_call>{{ f.name }}\n{% for k, v in f.arguments | items %}<arg_key>{{ k "
                   "}}</arg_key>\n<arg_value>{{ v if v is string else v | tojson "
                   "}}</arg_value>\n{% endfor %}</tool_call>" END},
      {"qwen3_coder", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}" CALLS
       "\n<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments | items %}<parameter={{ "
       "k }}>\n{{ v if v is string else v | tojson }}\n</parameter>\n{% endfor "
       "%}</function>\n</tool_call>" END},
      {"step3", "step3",
       THINK "{% if m.tool_calls %}<｜tool_calls_begin｜>\n{% endif %}" CALLS
             "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"{{ f.name "
             "}}\">\n{% for k, v in f.arguments | items %}<steptml:parameter name=\"{{ k }}\">{{ v "
             "if v is string else v | tojson }}</steptml:parameter>\n{% endfor "
             "%}</steptml:invoke><｜tool_call_end｜>\n"
             "{{ '<｜tool_calls_end｜>' if loop.last }}" END},
      {"minimax-m2", "minimax",
       THINK "{% if m.tool_calls %}\n<minimax:tool_call>\n{% endif %}" CALLS
             "<invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments | items %}<parameter "
             "name=\"{{ k }}\">{{ v if v is string else v | tojson }}</parameter>\n{% endfor "
             "%}</invoke>\n{{ '</minimax:tool_call>' if loop.last }}" END},
      {"gpt-oss", "gpt-oss",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
       "{% if m.reasoning_content %}<|channel|>analysis<|message|>{{ m.reasoning_content "
       "}}<|end|><|start|>assistant{% endif %}"
       "{% if m.content %}<|channel|>{{ 'commentary' if m.tool_calls else 'final' }}<|message|>{{ "
       "m.content }}{{ '<|end|><|start|>assistant' if m.tool_calls else '<|return|>' }}{% endif "
       "%}" CALLS
       "<|channel|>commentary to=functions.{{ f.name }} <|constrain|>json<|message|>{{ f.arguments "
       "| tojson }}<|call|>{{ '<|start|>assistant' if not loop.last }}" END},
      {"gpt-oss", "gpt-oss",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
       "{% if m.reasoning_content %}<|channel|>analysis<|message|>{{ m.reasoning_content "
       "}}<|end|>{% endif %}"
       "{% if m.content %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>"
       "{% endif %}" CALLS
       "<|start|>assistant to=functions.{{ f.name }}<|channel|>commentary json<|message|>{{ "
       "f.arguments | tojson }}" END},
  };
  return all;
}

// The forms of the families that came later.
const std::vector<Family>& later_families() {
  static const std::vector<Family> all = {
      {"glm47", "glm45",
       THINK CALLS
       "{% set tc = f %}{{ '<tool_call>' + tc.name }}{% for k, v in f.arguments | items "
       "%}<arg_key>{{ k }}</arg_key><arg_value>" VALUE "</arg_value>{% endfor %}</tool_call>" END},
      {"hunyuan", "hunyuan",
       THINK
       "{% if m.tool_calls %}<tool_calls>\n{% endif %}" CALLS
       "<tool_call>{{ f.name }}<tool_sep>\n{% for k, v in f.arguments | items %}<arg_key>{{ k "
       "}}</arg_key>\n<arg_value>" VALUE
       "</arg_value>\n{% endfor %}</tool_call>\n{{ '</tool_calls>' if loop.last }}" END},
      {"hunyuan_a13b", "hunyuan_a13b",
       BEGIN
       "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n{% endif %}"
       "{% if m.content %}<answer>\n{{ m.content }}\n</answer>{% endif %}"
       "{% if m.tool_calls %}<tool_calls>[{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments "
       "| tojson }}}{{ ']</tool_calls>' if loop.last }}" END},
      {"step3p5", "step3p5",
       THINK CALLS "<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments | items "
                   "%}<parameter={{ k }}>\n" VALUE
                   "\n</parameter>\n{% endfor %}</function>\n</tool_call>" END,
       "qwen3_coder"},
      {"mimo", "mimo",
       THINK CALLS "<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments | items "
                   "%}<parameter={{ k }}>" VALUE
                   "</parameter>\n{% endfor %}</function>\n</tool_call>\n" END,
       "qwen3_coder"},
      {"deepseekv32", "deepseek-v3",
       THINK "{% if m.tool_calls %}\n\n<｜DSML｜function_calls>\n{% endif %}" CALLS
             "<｜DSML｜invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments | items "
             "%}<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' "
             "}}\">" VALUE "</｜DSML｜parameter>\n{% endfor %}</｜DSML｜invoke>\n"
             "{{ '</｜DSML｜function_calls>' if loop.last }}" END},
      {"deepseekv4", "deepseek-v4",
       THINK "{% if m.tool_calls %}\n\n<｜DSML｜tool_calls>\n{% endif %}" CALLS
             "<｜DSML｜invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments | items "
             "%}<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' "
             "}}\">" VALUE "</｜DSML｜parameter>\n{% endfor %}</｜DSML｜invoke>\n"
             "{{ '</｜DSML｜tool_calls>' if loop.last }}" END},
      {"kimi_k3", "kimi_k3",
       BEGIN
       "{% if m.reasoning_content %}<|open|>think<|sep|>{{ m.reasoning_content "
       "}}<|close|>think<|sep|>{% endif %}"
       "<|open|>response<|sep|>{{ m.content }}<|close|>response<|sep|>"
       "{% if m.tool_calls %}<|open|>tools<|sep|>{% endif %}" CALLS
       "<|open|>call tool=\"{{ f.name }}\" index=\"{{ loop.index }}\"<|sep|>"
       "{% for k, v in f.arguments | items %}<|open|>argument key=\"{{ k }}\" type=\"{{ 'string' "
       "if v is string else 'boolean' if v is boolean else 'null' if v is none else 'number' if v "
       "is number else 'object' if v is mapping else 'array' }}\"<|sep|>" VALUE
       "<|close|>argument<|sep|>{% endfor %}<|close|>call<|sep|>"
       "{{ '<|close|>tools<|sep|><|close|>message<|sep|>' if loop.last }}" END},
      {"interns1", "interns1",
       THINK CALLS "<|action_start|> <|plugin|>\n{\"name\": \"{{ f.name }}\", \"parameters\": {{ "
                   "f.arguments | tojson }}}<|action_end|>" END},
      {"cohere_command4", "cohere_command4",
       BEGIN
       "{% if m.reasoning_content %}<|START_THINKING|>{{ m.reasoning_content "
       "}}<|END_THINKING|>{% endif %}"
       "{% if m.content %}<|START_TEXT|>{{ m.content }}<|END_TEXT|>{% endif %}"
       "{% if m.tool_calls %}<|START_ACTION|>[\n{% endif %}" CALLS
       "    {\"tool_call_id\": \"{{ loop.index0 }}\", \"tool_name\": \"{{ f.name }}\", "
       "\"parameters\": {{ f.arguments | tojson }}}{{ '\n]<|END_ACTION|>' if loop.last else ',\n' "
       "}}" END},
      {"apertus2509", "apertus2509",
       BEGIN "{% if m.reasoning_content %}<|inner_prefix|>{{ m.reasoning_content "
             "}}<|inner_suffix|>{% endif %}{{ m.content }}"
             "{% if m.tool_calls %}<|tools_prefix|>[{% endif %}" CALLS
             "{{ ', ' if not loop.first }}{\"{{ f.name }}\": {{ f.arguments | tojson }}}"
             "{{ ']<|tools_suffix|>' if loop.last }}" END},
      {"gigachat3", "",
       BEGIN "{{ m.content }}" CALLS
             "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"{{ "
             "f.name }}\", \"arguments\": {{ f.arguments | tojson }}}" END},
      {"lfm2", "",
       BEGIN "{{ m.content }}{% if m.tool_calls %}<|tool_call_start|>[{% endif %}" CALLS
             "{{ ', ' if not loop.first }}{{ f.name }}({% for k, v in f.arguments | items %}"
             "{{ ', ' if not loop.first }}{{ k }}={{ v | tojson }}{% endfor %})"
             "{{ ']<|tool_call_end|>' if loop.last }}" END},
      {"lfm2", "",
       BEGIN
       "{{ m.content }}{% if m.tool_calls %}<|tool_call_start|>[{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments "
       "| tojson }}}{{ ']<|tool_call_end|>' if loop.last }}" END},
      {"minimax-m3", "minimax-m3",
       "{% macro element(v) %}{% if v is mapping and v %}{% for k, w in v | items "
       "%}]<]minimax[>[<{{ k }}>{{ element(w) }}]<]minimax[>[</{{ k }}>{% endfor %}"
       "{% elif v is mapping %}{}{% elif v is sequence and v is not string %}{% for w in v "
       "%}]<]minimax[>[<item>{{ "
       "element(w) }}]<]minimax[>[</item>{% endfor %}{% else %}" VALUE
       "{% endif %}{% endmacro %}" BEGIN
       "{% if m.reasoning_content %}<mm:think>{{ m.reasoning_content }}</mm:think>{% endif %}"
       "{{ m.content }}{% if m.tool_calls %}]<]minimax[>[<tool_call>\n{% endif %}" CALLS
       "]<]minimax[>[<invoke name=\"{{ f.name }}\">{% for k, v in f.arguments | items "
       "%}]<]minimax[>[<{{ k }}>{{ element(v) }}]<]minimax[>[</{{ k }}>{% endfor %}"
       "]<]minimax[>[</invoke>\n{{ ']<]minimax[>[</tool_call>' if loop.last }}" END},
      {"gemma4", "gemma4",
       "{% macro loose(v) %}{% if v is string %}<|\"|>{{ v }}<|\"|>{% elif v is mapping %}{{ '{' }}"
       "{% for k, w in v | items %}{{ ',' if not loop.first }}{{ k }}:{{ loose(w) }}{% endfor %}}"
       "{% elif v is sequence %}[{% for w in v %}{{ ',' if not loop.first }}{{ loose(w) }}"
       "{% endfor %}]{% else %}{{ v | tojson }}{% endif %}{% endmacro %}" BEGIN
       "{% if m.reasoning_content %}<|channel>thought\n{{ m.reasoning_content }}<channel|>{% endif "
       "%}"
       "{{ m.content }}" CALLS
       "<|tool_call>call:{{ f.name }}{{ loose(f.arguments) }}<tool_call|>" END},
  };
  return all;
}

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
