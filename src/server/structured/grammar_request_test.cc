// What requests for constrained output become, over HTTP: the engine is a script that asks the
// constraint of its request at every token.

#include <algorithm>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

bool has_bit(std::span<const std::uint32_t> words, Token token) {
  const auto at = static_cast<std::size_t>(token);
  return at / 32 < words.size() && ((words[at / 32] >> (at % 32)) & 1U) != 0;
}

class GrammarRequestTest : public ServerTest {
 protected:
  // The model would like to say `text`; where it may not, it ends if it may, else it says the
  // lowest token that may come next.
  void wish(std::string text) {
    script = [text = std::move(text)](const Request& request) {
      std::vector<Token> out = byte_tokens("free");
      out.push_back(kByteEos);
      if (!request.constraint) return out;
      out.clear();
      const auto constraint = request.constraint->start();
      for (std::size_t said = 0; out.size() < 200 && !constraint->has_ended();) {
        Token token = said < text.size() ? static_cast<unsigned char>(text[said]) : kByteEos;
        const auto words = constraint->allowed();
        if (!constraint->fault().empty()) break;
        if (has_bit(words, token)) {
          ++said;
        } else if (token = kByteEos; !has_bit(words, token)) {
          for (token = 0; token < kByteVocab && !has_bit(words, token);) ++token;
        }
        EXPECT_TRUE(constraint->allows(token));
        out.push_back(token);
        if (token == kByteEos) break;
        constraint->advance(token);
      }
      return out;
    };
  }

  // The text, or the refusal.
  std::string generate(const std::string& sampling) {
    const auto reply =
        post(port, "/generate",
             R"({"text":"x","sampling_params":{"max_new_tokens":60,)" + sampling + "}}");
    const auto body = json_of(reply.body);
    if (reply.status == 200) return std::string(body.at("text").as_string());
    EXPECT_EQ(reply.status, 400);
    return std::string(body.at("error").at("message").as_string());
  }
  std::string chat(const std::string& fields) {
    const auto reply =
        post(port, "/v1/chat/completions",
             R"({"messages":[{"role":"user","content":"x"}],"max_tokens":60,)" + fields + "}");
    const auto body = json_of(reply.body);
    if (reply.status == 200)
      return std::string(body.at("choices").at(0).at("message").at("content").as_string());
    EXPECT_EQ(reply.status, 400);
    return std::string(body.at("message").as_string());
  }
};

TEST_F(GrammarRequestTest, fields_of_all_families_bind_the_output) {
  wish("maybe");
  start();
  EXPECT_EQ(generate(R"("regex":"[a-f]+|m\\d")"), "m0");
  EXPECT_EQ(generate(R"("ebnf":"root ::= \"ma\" [0-9]")"), "ma0");
  EXPECT_EQ(generate(R"("json_schema":"{\"const\":12}")"), "12");
  EXPECT_EQ(generate(R"("json_schema":{"const":13})"), "13");
  EXPECT_EQ(generate(R"("structural_tag":"{\"structures\":[{\"begin\":\"m\",\"schema\":)"
                     R"({\"const\":1},\"end\":\"!\"}],\"triggers\":[\"m\"]}")"),
            "m1!aybe");
  EXPECT_EQ(generate(R"("guided_choice":["no","mayhem"])"), "mayhem");
  EXPECT_EQ(generate(R"("structured_outputs":{"choice":["no"]})"), "no");
  EXPECT_EQ(generate(R"("response_format":{"type":"json_schema","json_schema":{"name":"n",)"
                     R"("schema":{"enum":["z"]}}})"),
            "\"z\"");
  for (const char* fields :
       {R"("regex":"zz?")", R"("guided_regex":"zz?")", R"("guided_grammar":"root ::= \"z\"")",
        R"("structured_outputs":{"regex":"z"})",
        R"("response_format":{"type":"structural_tag","format":{"type":"const_string",)"
        R"("value":"z"}})"})
    EXPECT_EQ(chat(fields), "z") << fields;
  for (const char* fields :
       {R"("json_schema":"{\"const\":\"q\"}")", R"("guided_json":{"const":"q"})",
        R"("structured_outputs":{"json":{"const":"q"}})",
        R"("response_format":{"type":"json_object","schema":{"const":"q"}})",
        R"("response_format":{"type":"json_schema","schema":{"const":"q"}})",
        R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,)"
        R"("schema":{"const":"q"}}})"})
    EXPECT_EQ(chat(fields), "\"q\"") << fields;
  for (const char* fields :
       {R"("response_format":{"type":"text"})", R"("guided_choice":null,"regex":null,"ebnf":null)"})
    EXPECT_EQ(chat(fields), "free") << fields;
}

TEST_F(GrammarRequestTest, any_json_object_will_do) {
  wish(R"({"a":[1, null]})");
  start();
  for (const char* fields :
       {R"("response_format":{"type":"json_object"})", R"("guided_json_object":true)",
        R"("structured_outputs":{"json_object":true})", R"("guided_json":{})"})
    EXPECT_EQ(chat(fields), R"({"a":[1, null]})") << fields;
}

TEST_F(GrammarRequestTest, the_layout_is_the_servers_or_the_requests) {
  wish("[1,2]");
  config.json_layout.is_compact = true;
  start();
  const std::string schema = R"("guided_json":{"type":"array","items":{"enum":[1,2]}})";
  EXPECT_EQ(chat(schema), "[1, 2]");
  EXPECT_EQ(chat(schema + R"(,"guided_whitespace_pattern":"_?")"), "[1,2]");
}

TEST_F(GrammarRequestTest, a_request_may_bar_white_space) {
  wish("[1,\n  2]");
  start();
  const std::string schema =
      R"("structured_outputs":{"json":{"type":"array","items":{"enum":[1,2]}})";
  EXPECT_EQ(chat(schema + "}"), "[1,\n  2]");
  EXPECT_EQ(chat(schema + R"(,"disable_any_whitespace":false})"), "[1,\n  2]");
  // After the line break is refused the script says what comes first.
  EXPECT_TRUE(chat(schema + R"(,"disable_any_whitespace":true})").starts_with("[1, 1, 1"));
}

TEST_F(GrammarRequestTest, an_end_without_a_stop_token_is_a_stop) {
  wish("ok");
  start();
  const auto reply =
      json_of(post(port, "/generate", R"({"text":"x","sampling_params":{"regex":"ok"}})").body);
  EXPECT_EQ(reply.at("text"), "ok");
}

TEST_F(GrammarRequestTest, what_is_wrong_gets_400_with_field_keyword_and_place) {
  start();
  EXPECT_EQ(generate(R"("json_schema":"{\"properties\":{\"a\":{\"not\":{}}}}")"),
            "json_schema cannot be used: the keyword \"not\" is not supported (at /properties/a)");
  EXPECT_EQ(generate(R"("regex":"a","ebnf":"b")"),
            "Only one of json_schema, regex, ebnf, or structural_tag can be set.");
  EXPECT_EQ(chat(R"("regex":"a","guided_choice":["b"])"),
            "only one of regex and guided_choice can be set");
  EXPECT_EQ(chat(R"("guided_choice":"b")"),
            "body.guided_choice: Input should be a list of strings (found string)");
  EXPECT_EQ(chat(R"("regex":3)"), "body.regex: Input should be a valid string (found integer)");
  EXPECT_EQ(chat(R"("response_format":{"type":"xml"})"),
            "body.response_format.type: Input should be 'text', 'json_object', 'json_schema' or "
            "'structural_tag'");
  EXPECT_EQ(chat(R"("response_format":{"type":"json_schema"})"),
            "body.response_format.json_schema: Field required");
  EXPECT_EQ(chat(R"("response_format":{"type":"json_schema","json_schema":{"name":"x"}})"),
            "body.response_format.json_schema.schema: Field required");
  for (const char* schema : {"[1]", "\"x\""})
    EXPECT_TRUE(
        chat(std::string(R"("response_format":{"type":"json_object","schema":)") + schema + "}")
            .starts_with("body.response_format.schema: Input should be a dictionary (found "))
        << schema;
  EXPECT_EQ(chat(R"("structured_outputs":{"regex":"a","disable_additional_properties":true})"),
            "disable_additional_properties is not supported: say \"additionalProperties\": false "
            "in the schema");
  EXPECT_NE(chat(R"("ebnf":"root ::= (")").find("ebnf cannot be used: "), std::string::npos);
}

TEST_F(GrammarRequestTest, an_empty_constraint_is_refused) {
  start();
  for (const char* name : {"regex", "ebnf", "json_schema", "structural_tag", "guided_json",
                           "guided_regex", "guided_grammar", "guided_choice"}) {
    const std::string body = std::string("body.") + name + ": it is empty";
    const std::string own = std::string("sampling_params.") + name + ": it is empty";
    EXPECT_TRUE(chat("\"" + std::string(name) + R"(":"")").starts_with(body)) << name;
    EXPECT_TRUE(generate("\"" + std::string(name) + R"(":"")").starts_with(own)) << name;
  }
  EXPECT_TRUE(chat(R"("guided_choice":[])").starts_with("body.guided_choice: it is empty"));
  EXPECT_TRUE(chat(R"("structured_outputs":{"regex":""})")
                  .starts_with("body.structured_outputs.regex: it is empty"));
}

TEST_F(GrammarRequestTest, strict_is_a_boolean) {
  wish("1");
  start();
  const auto format = [](const std::string& strict) {
    return R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":)" +
           strict + R"(,"schema":{"const":1}}})";
  };
  for (const char* strict : {"0", "1"})
    EXPECT_EQ(chat(format(strict)),
              "body.response_format.json_schema.strict: Input should be a valid boolean (found "
              "integer)");
  for (const char* strict : {"true", "false", "null"}) EXPECT_EQ(chat(format(strict)), "1");
}

TEST_F(GrammarRequestTest, servers_without_grammars_refuse_them) {
  config.serves_grammars = false;
  start();
  EXPECT_EQ(generate(R"("regex":"a")"),
            "regex is not supported: this server runs with --grammar-backend none");
  stop();
  config.serves_grammars = true;
  with_tokenizer = false;
  start();
  const auto reply =
      post(port, "/generate", R"({"input_ids":[1],"sampling_params":{"regex":"a"}})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("grammars need a tokenizer"), std::string::npos) << reply.body;
}

TEST_F(GrammarRequestTest, each_choice_has_a_place_of_its_own) {
  wish("ab");
  start();
  const auto reply = json_of(
      post(port, "/generate", R"({"text":"x","sampling_params":{"regex":"ab|cd","n":3}})").body);
  for (const auto& one : reply.as_array()) EXPECT_EQ(one.at("text"), "ab");
  EXPECT_EQ(reply.as_array().size(), 3U);
}

}  // namespace
}  // namespace foretoken
