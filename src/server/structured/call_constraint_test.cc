// Calls that a model makes of its own accord, over HTTP: the engine's script says what the model
// would like to, and asks the constraint of its request at every token.

#include <algorithm>

#include "server/structured/call_constraint.h"
#include "server/structured/call_grammar.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr const char* kParameters =
    R"({"type":"object","properties":{"a":{"$ref":"#/$defs/word"},"n":{"type":"integer"}},
        "required":["a"],"additionalProperties":false,"$defs":{"word":{"enum":["x","y"]}}})";

// g takes anything but the arguments of f.
std::string tools(bool is_strict = false, const std::string& parameters = kParameters) {
  return R"("tools":[{"type":"function","function":{"name":"f","strict":)" +
         std::string(is_strict ? "true" : "false") + R"(,"parameters":)" + parameters +
         R"(}},{"type":"function","function":{"name":"g","parameters":)" +
         R"({"type":"object","properties":{"a":{"type":"null"}}}}}])";
}

class CallConstraintTest : public ServerTest {
 protected:
  CallConstraintTest() {
    config.tool_call_parser = "qwen25";
    config.context_length = 4096;
  }

  // The model would like to say `text`; where it may not, it says the lowest token that may come
  // next and tries again.
  void wish(std::string text) {
    script = [this, text = std::move(text)](const Request& request) {
      std::vector<Token> out;
      masks_ = 0;
      is_bound_ = request.constraint != nullptr;
      const auto constraint = is_bound_ ? request.constraint->start() : nullptr;
      for (std::size_t said = 0; out.size() < 1500;) {
        Token token = said < text.size() ? static_cast<unsigned char>(text[said]) : kByteEos;
        const auto words = constraint ? constraint->allowed() : std::span<const std::uint32_t>();
        if (!words.empty()) ++masks_;
        const auto may = [&](Token one) {
          const auto at = static_cast<std::size_t>(one);
          return words.empty() ||
                 (at / 32 < words.size() && ((words[at / 32] >> (at % 32)) & 1U) != 0);
        };
        if (may(token))
          ++said;
        else
          for (token = 0; token < kByteVocab && !may(token);) ++token;
        EXPECT_TRUE(!constraint || constraint->allows(token)) << out.size();
        out.push_back(token);
        if (token == kByteEos) break;
        if (constraint) constraint->advance(token);
        if (constraint && !constraint->fault().empty()) break;
      }
      return out;
    };
  }

  json::value chat(const std::string& fields) {
    const auto reply = post(port, "/v1/chat/completions",
                            R"({"messages":[{"role":"user","content":"Hi"}],)" + fields + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body).at("choices").at(0);
  }
  std::string refusal(const std::string& fields) {
    const auto reply = post(port, "/v1/chat/completions",
                            R"({"messages":[{"role":"user","content":"Hi"}],)" + fields + "}");
    EXPECT_EQ(reply.status, 400) << reply.body;
    return std::string(json_of(reply.body).at("message").as_string());
  }
  // NAME(ARGUMENTS) of each call.
  static std::string calls_of(const json::value& choice) {
    std::string all;
    const auto& list = choice.at("message").at("tool_calls");
    if (!list.is_array()) return all;
    for (const auto& call : list.as_array()) {
      const auto& function = call.at("function");
      all += std::string(function.at("name").as_string()) + "(" +
             std::string(function.at("arguments").as_string()) + ")";
    }
    return all;
  }

  int masks_ = 0;
  bool is_bound_ = false;
};

TEST_F(CallConstraintTest, a_call_is_bound_and_what_stands_around_it_is_free) {
  wish(
      "Look {\"a\"\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}\n</tool_call>\n"
      "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>");
  start();
  const auto choice = chat(tools());
  EXPECT_EQ(choice.at("message").at("content"), "Look {\"a\"");
  EXPECT_EQ(calls_of(choice), "f({\"a\": \"y\"})g({})");
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
}

TEST_F(CallConstraintTest, what_the_schema_bars_is_not_said) {
  wish("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"zzz\"}}\n</tool_call>");
  start();
  for (const bool is_strict : {false, true}) {
    const auto calls = calls_of(chat(tools(is_strict)));
    EXPECT_TRUE(calls.starts_with("f({\"a\": \"x\"") || calls.starts_with("f({\"a\": \"y\""))
        << calls;
  }
  stop();
  wish("<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>");
  start();
  EXPECT_FALSE(calls_of(chat(tools())).empty()) << "the name is one of the tools'";
}

TEST_F(CallConstraintTest, an_answer_without_a_call_costs_no_mask) {
  wish("No <tool_ call> here, {\"name\": 1}.");
  start();
  EXPECT_EQ(chat(tools(true)).at("message").at("content"), "No <tool_ call> here, {\"name\": 1}.");
  EXPECT_TRUE(is_bound_);
  EXPECT_EQ(masks_, 0);
}

TEST_F(CallConstraintTest, the_flag_leaves_those_that_are_not_strict_free) {
  config.binds_arguments = false;
  wish("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"zzz\"}}\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools())), "f({\"a\": \"zzz\"})");
  EXPECT_FALSE(is_bound_);
  EXPECT_NE(calls_of(chat(tools(true))), "f({\"a\": \"zzz\"})");
  EXPECT_TRUE(is_bound_);
  stop();
  wish("<tool_call>\n{\"name\": \"g\", \"arguments\": {\"any\": [1]}}\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools(true))), "g({\"any\": [1]})");
}

TEST_F(CallConstraintTest, every_family_with_arguments_in_json_is_bound_in_its_format) {
  const std::string good = R"({"a": "y", "n": 7})";
  for (const auto& [style, call] : std::vector<std::pair<std::string, std::string>>{
           {"hermes", "<tool_call>\n{\"arguments\": @, \"name\": \"f\"}\n</tool_call>"},
           {"qwen", "<tool_call>\n{\"name\": \"f\", \"arguments\": @}\n</tool_call>"},
           {"llama3", "<|python_tag|>{\"name\": \"f\", \"parameters\": @}"},
           {"llama3",
            "<|python_tag|>{\"name\": \"g\", \"parameters\": {}}; {\"name\": \"f\", "
            "\"parameters\": @}"},
           {"mistral", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": @, \"id\": \"abcdefghi\"}]"},
           {"mistral",
            "[TOOL_CALLS] [{\"name\": \"g\", \"arguments\": {}}, {\"name\": \"f\", "
            "\"arguments\": @}]"},
           {"mistral", "[TOOL_CALLS]f[ARGS]@"},
           {"mistral", "[TOOL_CALLS]f@"},
           {"mistral", "[TOOL_CALLS]g[CALL_ID]abcdefghi[ARGS]{}[TOOL_CALLS]f[ARGS]@"},
           {"deepseekv3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n"
            "```json\n@\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
           {"deepseekv31",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>@"
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
           {"kimi_k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
            "<|tool_call_argument_begin|>@<|tool_call_end|>"
            "<|tool_calls_section_end|>"}}) {
    config.tool_call_parser = style;
    const auto with = [&, call = call](const std::string& arguments) {
      std::string text = call;
      return text.replace(text.find('@'), 1, arguments);
    };
    wish(with(good));
    start();
    const auto calls = calls_of(chat(tools()));
    EXPECT_TRUE(calls.ends_with("f(" + good + ")")) << style << ": " << calls;
    EXPECT_GT(masks_, 15) << style;
    stop();
    wish(with(R"({"a": "zz", "n": 7})"));
    start();
    const auto bent = calls_of(chat(tools()));
    EXPECT_EQ(bent.find("zz"), std::string::npos) << style << ": " << bent;
    stop();
  }
}

// A token may hold the end of the mark and more: what it says of the call must fit, else the call
// is left to the parser.
TEST_F(CallConstraintTest, a_mark_may_end_inside_of_a_token) {
  const auto vocabulary = GrammarVocabulary::of(tokenizer());
  ASSERT_TRUE(vocabulary);
  const auto constraint_of = [&](const char* mark, const char* regex) {
    auto grammar = Grammar::compile(
        *vocabulary, {.kind = GrammarSpec::Kind::kRegex, .source = regex, .layout = {}});
    EXPECT_TRUE(grammar);
    GrammarParts call{
        .grammar = *std::move(grammar), .guide = nullptr, .tokenizer = tokenizer(), .stops = {}};
    return CallSource({.call = std::make_shared<const GrammarParts>(std::move(call)),
                       .marks = {.call = mark}})
        .start();
  };
  // The longest token that is a text here.
  const std::string_view eos = tokenizer().piece(kByteEos);
  ASSERT_EQ(eos, "<|eos|>");
  const auto fits = constraint_of("<|e", R"(os\|>[0-9]!)");
  fits->advance(kByteEos);
  EXPECT_TRUE(fits->allows('7'));
  EXPECT_FALSE(fits->allows('x'));
  EXPECT_EQ(fits->count_allowed(byte_tokens("7!")), 2);
  for (const Token token : byte_tokens("7!")) fits->advance(token);
  EXPECT_TRUE(fits->allowed().empty()) << "free again";
  const auto other = constraint_of("<|e", "[0-9]");
  other->advance(kByteEos);
  EXPECT_TRUE(other->allowed().empty());
}

TEST_F(CallConstraintTest, what_is_thought_is_no_call) {
  config.reasoning_parser = "deepseek-r1";
  wish("a <tool_call>\n{no} </think>\n<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>");
  start();
  const auto choice = chat(tools(true));
  EXPECT_EQ(choice.at("message").at("reasoning_content"), "a <tool_call>\n{no} ");
  EXPECT_EQ(calls_of(choice), "g({})");
}

TEST_F(CallConstraintTest, schemas_that_cannot_be_compiled_bind_only_to_an_object) {
  wish("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"any\": 1}}\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools(false, R"({"properties":{"a":{"not":{}}}})"))), "f({\"any\": 1})");
  EXPECT_TRUE(is_bound_);
  const std::string why = refusal(tools(true, R"({"properties":{"a":{"not":{}}}})"));
  EXPECT_EQ(why,
            "the parameters of the strict tool 'f' cannot be used: the keyword \"not\" is not "
            "supported (at /properties/a)");
}

TEST_F(CallConstraintTest, servers_without_grammars_refuse_strict_tools) {
  config.serves_grammars = false;
  wish("Yes.");
  start();
  EXPECT_EQ(refusal(tools(true)),
            "strict tools are not supported: this server runs with --grammar-backend none");
  chat(tools());
  EXPECT_FALSE(is_bound_);
}

// Values between marks: one of an enum, JSON, free text.
constexpr const char* kTagged =
    R"({"type":"object","properties":{"a":{"$ref":"#/$defs/word"},"n":{"type":"integer"},
        "t":{"type":"string"}},"required":["a"],"additionalProperties":false,
        "$defs":{"word":{"enum":["x","y"]}}})";

TEST_F(CallConstraintTest, families_that_write_parameters_between_marks_are_bound) {
  for (const auto& [style, call] : std::vector<std::pair<std::string, std::string>>{
           {"glm45",
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>@</arg_value>\n<arg_key>n</arg_key>\n"
            "<arg_value>#</arg_value>\n<arg_key>t</arg_key>\n<arg_value>q\"r</arg_value>\n"
            "</tool_call>"},
           {"qwen3_coder",
            "<tool_call>\n<function=f>\n<parameter=a>\n@\n</parameter>\n<parameter=n>\n#\n"
            "</parameter>\n<parameter=t>\nq\"r\n</parameter>\n</function>\n</tool_call>"},
           {"step3",
            "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke "
            "name=\"f\"><steptml:parameter name=\"a\">@</steptml:parameter><steptml:parameter "
            "name=\"n\">#</steptml:parameter><steptml:parameter name=\"t\">q\"r"
            "</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"},
           {"minimax-m2",
            "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">@</parameter>\n"
            "<parameter name=\"n\">#</parameter>\n<parameter name=\"t\">q\"r</parameter>\n"
            "</invoke>\n</minimax:tool_call>"}}) {
    config.tool_call_parser = style;
    const auto with = [&, call = call](const std::string& a, const std::string& n) {
      std::string text = call;
      text.replace(text.find('@'), 1, a);
      return text.replace(text.find('#'), 1, n);
    };
    wish(with("y", "7"));
    start();
    auto calls = calls_of(chat(tools(true, kTagged)));
    EXPECT_EQ(calls, R"(f({"a": "y", "n": 7, "t": "q\"r"}))") << style;
    EXPECT_GT(masks_, 15) << style;
    stop();
    wish(with("zz", "7"));
    start();
    calls = calls_of(chat(tools(true, kTagged)));
    EXPECT_EQ(calls.find("zz"), std::string::npos) << style << ": " << calls;
    EXPECT_EQ(calls.find("f({\"a\": "), 0U) << style << ": " << calls;
    stop();
    wish(with("x", "w"));
    start();
    calls = calls_of(chat(tools(true, kTagged)));
    EXPECT_EQ(calls.find("\"n\": w"), std::string::npos) << style << ": " << calls;
    EXPECT_EQ(calls.find("\"n\": \"w"), std::string::npos) << style << ": " << calls;
    stop();
  }
}

TEST_F(CallConstraintTest, parameters_that_no_schema_names_are_text) {
  config.tool_call_parser = "glm45";
  wish(
      "<tool_call>g\n<arg_key>b</arg_key>\n<arg_value>one</arg_value>\n<arg_key>c</arg_key>\n"
      "<arg_value>[2]</arg_value>\n</tool_call>");
  start();
  EXPECT_EQ(calls_of(chat(tools())), R"(g({"b": "one", "c": [2]}))");
  EXPECT_GT(masks_, 15);
}

TEST_F(CallConstraintTest, what_text_between_marks_cannot_be_held_to_is_refused_of_strict_tools) {
  config.tool_call_parser = "glm45";
  wish("Yes.");
  start();
  const std::string schema = R"({"properties":{"a":{"type":"string","pattern":"^x"}}})";
  EXPECT_EQ(refusal(tools(true, schema)),
            "the parameter 'a' of the strict tool 'f' cannot be held to \"pattern\" in the format "
            "of glm45");
  chat(tools(false, schema));
  EXPECT_TRUE(is_bound_);
}

TEST_F(CallConstraintTest, messages_to_functions_are_bound) {
  config.tool_call_parser = "gpt-oss";
  for (const char* header :
       {"<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.f json<|message|>",
        "<|channel|>analysis<|message|>to=functions.h it is<|end|><|start|>assistant "
        "to=functions.f<|channel|>commentary<|message|>"}) {
    const std::string text = header;
    wish(text + "{\"a\": \"y\", \"n\": 7}<|call|>");
    start();
    EXPECT_EQ(calls_of(chat(tools(true))), R"(f({"a": "y", "n": 7}))") << header;
    EXPECT_GT(masks_, 15) << header;
    stop();
    wish(text + "{\"a\": \"zz\"}<|call|>");
    start();
    EXPECT_EQ(calls_of(chat(tools(true))).find("zz"), std::string::npos) << header;
    stop();
  }
}

// Outside of a section the mark is text, as the parser has it.
TEST_F(CallConstraintTest, a_mark_outside_of_its_section_is_none) {
  config.tool_call_parser = "minimax-m2";
  const std::string text = "It reads <invoke name=\"h\"> there.";
  wish(text);
  start();
  EXPECT_EQ(chat(tools(true)).at("message").at("content"), text.c_str());
  EXPECT_TRUE(is_bound_);
  EXPECT_EQ(masks_, 0);
}

TEST_F(CallConstraintTest, calls_without_a_mark_are_bound_once_they_name_a_tool) {
  config.tool_call_parser = "llama3";
  for (const char* call :
       {R"({"name": "f", "parameters": @})", R"( {"parameters": @, "name": "f"})",
        R"({"name": "g", "parameters": {}}; {"name": "f", "parameters": @})"}) {
    const auto with = [&](const std::string& arguments) {
      std::string text = call;
      return text.replace(text.find('@'), 1, arguments);
    };
    wish(with(R"({"a": "y", "n": 7})"));
    start();
    auto calls = calls_of(chat(tools(true)));
    EXPECT_TRUE(calls.ends_with(R"(f({"a": "y", "n": 7}))")) << call << ": " << calls;
    EXPECT_GT(masks_, 10) << call;
    stop();
    wish(with(R"({"a": "zz", "n": 7})"));
    start();
    calls = calls_of(chat(tools()));
    EXPECT_EQ(calls.find("zz"), std::string::npos) << call << ": " << calls;
    EXPECT_NE(calls.find("f({\"a\": "), std::string::npos) << call << ": " << calls;
    stop();
  }
}

TEST_F(CallConstraintTest, answers_that_merely_begin_like_a_call_are_free) {
  for (const char* style : {"llama3", "llama4", "pythonic"})
    for (const char* text :
         {R"({"name": "h", "parameters": {"a": "zz"}})", R"({"names": ["f"]})",
          R"(["f", {"a": 1}])", R"([f, g])", R"(See {"name": "f", "parameters": {"a": "zz"}})",
          R"(See [f(a="zz")])"}) {
      config.tool_call_parser = style;
      wish(text);
      start();
      EXPECT_EQ(chat(tools(true)).at("message").at("content"), text) << style;
      EXPECT_TRUE(is_bound_);
      EXPECT_EQ(masks_, 0) << style << ": " << text;
      stop();
    }
}

TEST_F(CallConstraintTest, calls_of_python_are_bound) {
  constexpr const char* kSchema =
      R"({"type":"object","properties":{"o":{"type":"boolean"},"a":{"enum":["x","y",1,null]},
          "n":{"type":"integer"},"t":{"type":"string"},"p":{"type":"string","pattern":"^q+$"},
          "l":{"type":"array","items":{"type":"string"}}},"required":["a","n"]})";
  const auto said = [&](const std::string& text) {
    wish(text);
    start();
    const auto calls = calls_of(chat(tools(true, kSchema)));
    stop();
    return calls;
  };
  for (const char* style : {"pythonic", "llama4"}) {
    config.tool_call_parser = style;
    EXPECT_EQ(said("[f(a='y', n=7)]"), R"(f({"a": "y", "n": 7}))");
    EXPECT_GT(masks_, 5);
    EXPECT_EQ(said("[f(o=True, a=None, n=-7, t='it\\'s, so', p=\"qq\", l=[\"a\", \"b\"])]"),
              R"(f({"o": true, "a": null, "n": -7, "t": "it's, so", "p": "qq", "l": ["a", "b"]}))");
    EXPECT_EQ(said("[f(a=1,n=2), g(), f(o=False,a=\"x\",n=3)]"),
              R"(f({"a": 1, "n": 2})g({})f({"o": false, "a": "x", "n": 3}))");
    EXPECT_TRUE(said("[f(a=\"zz\", n=7)]").starts_with(R"(f({"a": "x", "n": )")) << style;
    EXPECT_EQ(said("[f(a=\"x\", n=7, p=\"zz\")]").find("zz"), std::string::npos) << style;
    EXPECT_EQ(said("[f(a=\"x\", n=7, p='zz')]").find("zz"), std::string::npos) << style;
    EXPECT_EQ(said("[f(a=\"x\", n=\"8\")]").find('8'), std::string::npos) << style;
  }
  EXPECT_NE(said("<|python_start|>[f(a=\"zz\", n=7)]<|python_end|>").find("f({\"a\": "),
            std::string::npos);
  EXPECT_NE(said(R"({"name": "f", "parameters": {"a": "zz", "n": 7}})").find("f({\"a\": "),
            std::string::npos);
}

TEST_F(CallConstraintTest, tools_without_parameters_are_called_as_python_with_any) {
  config.tool_call_parser = "pythonic";
  wish("[f(b=1, c='two', d=[1]), f()]");
  start();
  EXPECT_EQ(calls_of(chat(tools(false, R"({"type":"object"})"))),
            R"(f({"b": 1, "c": "two", "d": [1]})f({}))");
}

TEST_F(CallConstraintTest, too_many_parameters_for_python_are_refused_of_strict_tools) {
  config.tool_call_parser = "pythonic";
  std::string properties;
  for (int i = 0; i < 40; ++i)
    properties += (i == 0 ? "" : ",") + ("\"p" + std::to_string(i)) + R"(":{"type":"integer"})";
  wish("Yes.");
  start();
  const std::string schema = R"({"properties":{)" + properties + "}}";
  EXPECT_EQ(refusal(tools(true, schema)),
            "the tool 'f' has too many parameters that may be left out");
  chat(tools(false, schema));
}

TEST_F(CallConstraintTest, without_a_family_nothing_is_bound) {
  config.tool_call_parser = "none";
  wish("Yes.");
  start();
  chat(tools(true));
  EXPECT_FALSE(is_bound_);
}

}  // namespace
}  // namespace foretoken
