#include "text/chat_template.h"
#include "base/file.h"

#include <cstdlib>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "base/testing/test_folder.h"
#include "text/testing/test_tokenizers.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::int64_t kNow = 1735830245;  // the time at which the golden files say they were made

std::string testdata(const std::string& name) {
  const auto text =
      read_file(std::filesystem::path(FORETOKEN_SOURCE_DIR) / "src/text/testdata" / name);
  EXPECT_TRUE(text) << name;
  return text.value_or("");
}

// Requests as text, by name: Boost.JSON would round their numbers.
std::vector<std::pair<std::string, std::string>> conversations() {
  std::vector<std::pair<std::string, std::string>> found;
  std::istringstream lines(testdata("conversations.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const json::value request = json::parse(line);
    found.emplace_back(request.at("name").as_string(), line);
  }
  return found;
}

std::string fnv1a(std::string_view bytes) {
  std::uint64_t value = 0xCBF29CE484222325ULL;
  for (char byte : bytes) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

void expect_golden(const json::object& golden, const Result<std::string>& rendered) {
  if (const json::value* error = golden.if_contains("error")) {
    ASSERT_FALSE(rendered) << "expected an error, found: " << *rendered;
    const std::string message =
        error->is_string() ? std::string(error->as_string()) : std::string();
    EXPECT_TRUE(rendered.refusal().message.ends_with(message)) << rendered.refusal().message;
    return;
  }
  ASSERT_TRUE(rendered) << rendered.refusal().message;
  if (const json::value* text = golden.if_contains("text")) {
    EXPECT_EQ(*rendered, std::string_view(text->as_string()));
    return;
  }
  EXPECT_EQ(static_cast<std::int64_t>(rendered->size()), golden.at("bytes").as_int64())
      << *rendered;
  EXPECT_EQ(fnv1a(*rendered), std::string_view(golden.at("fnv1a").as_string())) << *rendered;
}

TokenizerConfig golden_config() {
  TokenizerConfig config;
  config.specials = {{.role = "bos_token", .token = {.content = "<s>"}},
                     {.role = "eos_token", .token = {.content = "</s>"}}};
  config.additional = {{.content = "<a>"}, {.content = "<b>"}};
  return config;
}

Result<std::string> render(
    std::string_view source,
    std::string_view request = R"({"messages": [{"role": "user", "content": "hi"}]})",
    MessageForm form = MessageForm::kAsGiven) {
  return ChatTemplate(source, TokenizerConfig{}).render(request, form);
}

class ChatTemplateGolden : public testing::Test {
 protected:
  void SetUp() override { setenv("TZ", "UTC", 1); }
};

TEST_F(ChatTemplateGolden, own_templates_match_transformers) {
  const json::value golden = json::parse(testdata("own_templates.golden.json"));
  ASSERT_EQ(golden.as_object().size(), 5U);
  for (const auto& [name, results] : golden.as_object()) {
    const ChatTemplate chat(testdata("templates/" + std::string(name)), golden_config());
    for (const auto& [conversation, request] : conversations()) {
      SCOPED_TRACE(std::string(name) + ", " + conversation);
      expect_golden(results.as_object().at(conversation).as_object(),
                    chat.render_at(request, MessageForm::kAsGiven, kNow));
    }
  }
}

TEST_F(ChatTemplateGolden, expressions_match_jinja2) {
  const std::string request = testdata("expressions_request.json");
  const json::value golden = json::parse(testdata("expressions.golden.json"));
  ASSERT_GT(golden.as_array().size(), 100U);
  for (const json::value& item : golden.as_array()) {
    const std::string source(item.at("source").as_string());
    SCOPED_TRACE(source);
    try {
      const ChatTemplate chat(source, TokenizerConfig{});
      expect_golden(item.as_object(), chat.render_at(request, MessageForm::kAsGiven, kNow));
    } catch (const Error& error) {
      EXPECT_TRUE(item.as_object().contains("error")) << error.what();
    }
  }
}

TEST_F(ChatTemplateGolden, model_templates_match_transformers) {
  const auto shared = shared_data();
  if (!shared) GTEST_SKIP() << "the shared data is absent";
  const json::value golden = json::parse(testdata("model_templates.golden.json"));
  ASSERT_EQ(golden.as_object().size(), 5U);
  for (const auto& [name, results] : golden.as_object()) {
    TestFolder folder;
    folder.link("tokenizer_config.json", *shared / std::string(name));
    const TokenizerConfig config = read_tokenizer_config(folder.path());
    const auto chat = ChatTemplate::load(folder.path(), config);
    ASSERT_TRUE(chat) << name;
    for (const auto& [conversation, request] : conversations()) {
      SCOPED_TRACE(std::string(name) + ", " + conversation);
      expect_golden(results.as_object().at(conversation).as_object(), chat->render(request));
    }
  }
}

TEST(ChatTemplate, sources_are_found_in_their_order) {
  TestFolder folder;
  const std::string request = R"({"messages": [{"role": "user", "content": "hi"}]})";
  const auto rendered = [&](std::string_view choice = {}) {
    const auto chat =
        ChatTemplate::load(folder.path(), read_tokenizer_config(folder.path()), choice);
    return chat ? *chat->render(request) : "none";
  };
  EXPECT_EQ(rendered(), "none");
  folder.write("chat_template.json", R"({"chat_template": "json"})");
  EXPECT_EQ(rendered(), "json");
  folder.write("tokenizer_config.json",
               R"({"chat_template": "config {{ bos_token }}", "bos_token": {"content": "<b>"}})");
  EXPECT_EQ(rendered(), "config <b>");
  folder.write("chat_template.jinja", "file");
  EXPECT_EQ(rendered(), "file");
  folder.write("other.jinja", "chosen file");
  EXPECT_EQ(rendered(folder.file("other.jinja")), "chosen file");
  EXPECT_EQ(rendered("{{ messages[0].content }}!"), "hi!");
  try {
    rendered("llama-2");
    FAIL() << "a name passed for a template";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no such chat template (--chat-template): expected a file with Jinja text, or the "
                 "text itself, found 'llama-2' (templates known by name are not supported)");
  }
}

TEST(ChatTemplate, named_templates_are_chosen_by_tools) {
  TestFolder folder;
  folder.write("tokenizer_config.json",
               R"({"chat_template": [{"name": "default", "template": "plain"},
      {"name": "tool_use", "template": "with tools"}, {"name": "rag", "template": "{{ unread"}]})");
  const auto chat = ChatTemplate::load(folder.path(), read_tokenizer_config(folder.path()));
  EXPECT_EQ(*chat->render(R"({"messages": [{}]})"), "plain");
  EXPECT_EQ(*chat->render(R"({"messages": [{}], "tools": []})"), "with tools");
}

TEST(ChatTemplate, a_template_for_tools_may_have_a_file_of_its_own) {
  TestFolder folder;
  const auto load = [&] {
    return ChatTemplate::load(folder.path(), read_tokenizer_config(folder.path()));
  };
  folder.write("chat_template.jinja", "plain");
  const std::string with_tools = R"({"messages": [{}], "tools": []})";
  EXPECT_EQ(*load()->render(with_tools), "plain");
  std::filesystem::create_directory(folder.file("additional_chat_templates"));
  folder.write("additional_chat_templates/rag.jinja", "{{ unread");
  folder.write("additional_chat_templates/tool_use.jinja", "with tools");
  EXPECT_EQ(*load()->render(with_tools), "with tools");
  EXPECT_EQ(*load()->render(R"({"messages": [{}]})"), "plain");
  folder.write("additional_chat_templates/tool_use.jinja", "{{ unclosed");
  try {
    load();
    FAIL() << "a broken template for tools was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("tool_use.jinja"), std::string::npos);
  }
}

TEST(ChatTemplate, wrong_templates_are_refused_at_load) {
  EXPECT_THROW(static_cast<void>(render("{% if %}")), Error);
  EXPECT_THROW(static_cast<void>(render("{{ unclosed")), Error);
  EXPECT_THROW(static_cast<void>(render("{% for x in y %}")), Error);
  EXPECT_THROW(static_cast<void>(render("\xFF")), Error);
  TestFolder folder;
  folder.write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "x"}]})");
  EXPECT_THROW(ChatTemplate::load(folder.path(), read_tokenizer_config(folder.path())), Error);
  folder.write("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_THROW(ChatTemplate::load(folder.path(), read_tokenizer_config(folder.path())), Error);
}

TEST(ChatTemplate, wrong_requests_are_refused) {
  const ChatTemplate chat("{{ messages[0].content }}", TokenizerConfig{});
  for (std::string_view request :
       {"", "{", "[]", "{}", R"({"messages": []})", R"({"messages": "x"})",
        R"({"messages": [{}], "tools": [1]})", R"({"messages": [{}], "tools": {}})",
        R"({"messages": [{}], "add_generation_prompt": 1})",
        R"({"messages": [{}], "chat_template_kwargs": []})",
        R"({"messages": [{}], "chat_template_kwargs": {"chat_template": "x"}})",
        R"({"messages": [{}]} trailing)", R"({"messages": [{"content": "\ud800"}]})",
        "{\"messages\": [{\"content\": \"\xFF\"}]}", R"({"messages": [{"content": 01}]})",
        R"({"messages": [{"content": "x}]})"}) {
    const auto rendered = chat.render(request);
    EXPECT_FALSE(rendered) << request;
    EXPECT_TRUE(rendered || rendered.refusal().message.size() > 20);
  }
  EXPECT_FALSE(chat.render(std::string(100000, '[')));
}

TEST(ChatTemplate, hostile_templates_end_with_an_error) {
  std::string doubling = "{% set s = 'xxxxxxxxxxxxxxxx' %}";
  for (int i = 0; i < 60; ++i) doubling += "{% set s = s ~ s %}";
  const std::string long_text(100000, 'x');
  for (const std::string& source : {
           doubling,
           std::string(
               "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
           "{% for a in range(99999) %}{% for b in range(99) %}" + long_text +
               "{% endfor %}{% endfor %}",
           std::string("{{ 'x' * 10000000000 }}"),
           std::string("{{ [1] * 10000000000 }}"),
           std::string("{{ range(10000000000) }}"),
           std::string("{{ '%2000000000d' % 1 }}"),
           std::string("{{ '%*d' % (2000000000, 1) }}"),
           std::string("{{ '{:{}}'.format(1, 2000000000) }}"),
           std::string("{{ 'x'.center(4000000000) }}"),
           std::string("{% set a = 'x' * 1000000 %}{{ a.replace('x', a) }}"),
           std::string("{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l "
                       "+ ns.l %}{% endfor %}"),
           std::string("{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = "
                       "ns.l + [range(99999)] %}{% endfor %}"),
           std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
           std::string("{{ messages[0].content.nothing.nothing }}"),
           std::string("{{ 1 // 0 }}"),
       }) {
    SCOPED_TRACE(source.substr(0, 100));
    const auto rendered = render(source);
    ASSERT_FALSE(rendered);
    EXPECT_GT(rendered.refusal().message.size(), 20U);
  }
  const std::string deep = std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_THROW(static_cast<void>(render("{{ " + deep + " }}")), Error);
}

TEST(ChatTemplate, openai_messages_take_the_form_that_templates_expect) {
  const std::string request = R"({"messages": [
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null, "name": null, "tool_calls": [{"function": {"name": "f", "arguments": "{\"x\": 1.0}"}}]}]})";
  EXPECT_EQ(*render("{{ messages[0].content }}|{{ messages[1] }}", request, MessageForm::kOpenAi),
            "a b|{'role': 'assistant', 'content': '', 'tool_calls': [{'function': {'name': 'f', "
            "'arguments': {'x': 1.0}}}]}");
  EXPECT_EQ(*render("{% for p in messages[0]['content'] %}{{ p.type }},{% endfor %}", request,
                    MessageForm::kOpenAi),
            "text,image_url,text,");
  EXPECT_EQ(*render("{{ 'call ' + messages[1].tool_calls[0].function.arguments }}", request,
                    MessageForm::kOpenAi),
            "call {\"x\": 1.0}")
      << "a template that joins the arguments as text gets them as text";
}

TEST(ChatTemplate, variables_cannot_hide_operators) {
  EXPECT_EQ(
      *render("{{ 1 + 1 }}{{ 'a' ~ 'b' }}",
              R"({"messages": [{}], "chat_template_kwargs": {"operator +": 1, "operator ~": 2}})"),
      "2ab");
}

TEST(ChatTemplate, random_sources_never_do_worse_than_an_error) {
  std::mt19937 random(5);
  const std::vector<std::string> parts = {
      "{{",       "}}",     "{%",       "%}",         "{#",       "#}",         "-",
      "+",        " ",      "\n",       "if",         "endif",    "for",        "in",
      "endfor",   "set",    "=",        "macro m(a)", "endmacro", "m(1)",       "x",
      "messages", "[0]",    ".content", "|",          "tojson",   "join",       "(",
      ")",        "'a'",    "\"",       "~",          "*",        "generation", "endgeneration",
      "raw",      "endraw", "1",        "[::-1]",     "else",     "loop.index", "call",
      "break",    "\u00E9"};
  for (int round = 0; round < 5000; ++round) {
    std::string source;
    for (std::size_t count = random() % 25; count > 0; --count)
      source += parts[random() % parts.size()] + (random() % 2 ? " " : "");
    try {
      const auto rendered = render(source);
      EXPECT_TRUE(rendered || !rendered.refusal().message.empty());
    } catch (const Error&) {
    }
  }
}

TEST(ChatTemplate, random_requests_never_do_worse_than_an_error) {
  std::mt19937 random(6);
  const ChatTemplate chat("{% for m in messages %}{{ m.role }}{{ m | tojson }}{% endfor %}",
                          TokenizerConfig{});
  const std::string whole =
      R"({"messages": [{"role": "user", "content": "h\u00e9 \ud83d\ude00", "n": [1.5e3, -0, true, null]}], "tools": null})";
  for (int round = 0; round < 5000; ++round) {
    std::string request = whole;
    for (std::size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % request.size();
      if (random() % 2)
        request[at] = static_cast<char>(random());
      else
        request.erase(at, 1 + random() % 5);
      if (request.empty()) request = "{";
    }
    const auto rendered = chat.render(request);
    EXPECT_TRUE(rendered || !rendered.refusal().message.empty());
  }
}

TEST(ChatTemplate, many_threads_may_share_one) {
  const ChatTemplate chat("{% for m in messages %}{{ m.role }}:{{ m.content | upper }}{% endfor %}",
                          TokenizerConfig{});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        EXPECT_EQ(*chat.render(R"({"messages": [{"role": "user", "content": "hi"}]})"), "user:HI");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace foretoken
