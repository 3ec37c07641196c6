// Tokenizers and chat templates.

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <boost/json/parse.hpp>

#include "base/json_text.h"
#include "base/log.h"

#include "kit.h"
#include "targets.h"
#include "text/chat_template.h"
#include "text/detokenizer.h"
#include "text/dialogue/dialogue.h"
#include "text/sentencepiece_model.h"
#include "text/stop_matcher.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace foretoken::fuzz {
namespace {

constexpr std::string_view kText = "Hello, w\xC3\xB6rld! <s>\t12 345\n\xF0\x9F\x98\x80 don't";

// What a server asks of a tokenizer; the text it gives back is UTF-8 in every case.
void use(const Tokenizer& tokenizer) {
  const auto tokens = tokenizer.encode(kText, AddSpecial::kYes);
  if (!tokens) return;
  CHECK(is_valid_utf8(tokenizer.decode(*tokens, SpecialText::kKeep))) << "broken text";
  Detokenizer stream(tokenizer);
  std::string text;
  for (const Token token : *tokens) {
    tokenizer.token_text(token);
    text += stream.push(token);
    stream.pending();
  }
  text += stream.finish();
  CHECK(is_valid_utf8(text)) << "broken text from a stream";
  for (const Token token : {-1, 0, 7, 1 << 30}) tokenizer.decode({&token, 1}, SpecialText::kSkip);
}

struct ReadAnswer {
  AnswerParts parts;
  bool is_over = false;
};

ReadAnswer read_answer(const Dialogue& dialogue, std::string_view text, std::size_t piece) {
  ReadAnswer out;
  const auto parser = make_answer_parser(dialogue);
  for (; !text.empty(); text.remove_prefix(std::min(text.size(), piece)))
    parser->push(text.substr(0, piece), out.parts);
  parser->finish(Ending::kComplete, out.parts);
  out.is_over = parser->is_over();
  return out;
}

bool same(const AnswerParts& a, const AnswerParts& b) {
  const auto is_same = [](const AnswerPart& x, const AnswerPart& y) {
    return x.kind == y.kind && x.text == y.text && x.name == y.name && x.id == y.id;
  };
  return a.list().size() == b.list().size() &&
         std::equal(a.list().begin(), a.list().end(), b.list().begin(), is_same);
}

}  // namespace

// What a model writes. The first bytes choose the styles and settings. However the text is cut, the
// parts are the same; no more comes out than went in, but for escapes; whole calls are JSON.
void answer(std::string_view input) {
  if (input.size() < 3) return;
  static const auto tools = std::make_shared<const ToolSchemas>(
      boost::json::parse(R"([{"function":{"name":"f","parameters":{"properties":{
          "a":{"type":"string"},"b":{"type":["integer","null"]},"c":{"type":"object"}}}}},
          {"function":{"name":"g"}}])")
          .as_array());
  static const auto calls = call_style_names(), reasonings = reasoning_style_names();
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
  Dialogue dialogue;
  if (const std::size_t i = byte(0) % (calls.size() + 1); i < calls.size())
    dialogue.calls = find_call_style(calls[i]);
  if (const std::size_t i = byte(1) % (reasonings.size() + 1); i < reasonings.size())
    dialogue.reasoning = find_reasoning_style(reasonings[i]);
  dialogue.begins_inside = (byte(2) & 1) != 0;
  dialogue.call_options = {
      .tools = tools, .whole_calls = (byte(2) & 2) != 0, .one_call = (byte(2) & 4) != 0};
  const std::string_view text = input.substr(3);
  const LogLevel level = log_enabled(LogLevel::kWarning) ? LogLevel::kInfo : LogLevel::kOff;
  set_log_level(LogLevel::kOff);
  const ReadAnswer whole = read_answer(dialogue, text, text.size() + 1);
  for (const std::size_t piece : {1, 2, 7})
    CHECK(same(read_answer(dialogue, text, piece).parts, whole.parts)) << "pieces of " << piece;
  set_log_level(level);
  std::size_t bytes = 0;
  for (const AnswerPart& part : whole.parts.list()) {
    bytes += part.text.size();
    JsonFault fault;
    CHECK(part.kind != AnswerPart::Kind::kCall || !dialogue.call_options.whole_calls ||
          !is_valid_utf8(text) || part.text.find("\\u") != std::string::npos ||
          parse_json(part.text, fault))
        << "arguments that are no JSON: " << part.text;
  }
  CHECK(bytes <= 8 * text.size() + 16) << "parts larger than the text";
}

// An expression, and a text behind the separator. However the text is cut, it ends at the same
// place; what is shown is what was put in, but for what is trimmed.
void stop_expressions(std::string_view input) {
  const auto [expression, text] = two_parts(input);
  if (!is_valid_utf8(expression) || !is_valid_utf8(text)) return;
  const std::vector<std::string> expressions{std::string(expression), "stop[0-9]"};
  auto compiled = StopExpressions::compile(expressions);
  CHECK(compiled || !compiled.refusal().message.empty()) << "refused without a reason";
  if (!compiled) return;
  const auto stops = std::make_shared<const StopStrings>(std::vector<std::string>{"halt"},
                                                         expressions, *std::move(compiled));
  const auto read = [&, text = text](std::size_t piece) {
    StopMatcher matcher(stops);
    StopScan all;
    for (std::size_t at = 0, end = 0; at < text.size() && !all.stop; at = end) {
      // Texts come in whole characters.
      for (end = std::min(text.size(), at + piece);
           end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80;)
        ++end;
      const bool foretold = matcher.would_match(text.substr(at, end - at));
      const StopScan scan = matcher.push(text.substr(at, end - at));
      CHECK(foretold == scan.stop.has_value()) << "foretold otherwise";
      all.text += scan.text;
      all.stop = scan.stop;
    }
    if (!all.stop) all.text += matcher.finish();
    return all;
  };
  const StopScan whole = read(text.size() + 1);
  CHECK(text.starts_with(whole.text) && is_valid_utf8(whole.text)) << "another text";
  CHECK(whole.stop || whole.text == text) << "something is missing";
  for (const std::size_t piece : {1, 2, 7}) {
    const StopScan pieces = read(piece);
    CHECK(pieces.text == whole.text && pieces.stop == whole.stop) << "pieces of " << piece;
  }
}

// tokenizer.json, and tokenizer_config.json behind the separator.
void tokenizer_json(std::string_view input) {
  static const InputFolder folder;
  const auto [json, config] = two_parts(input);
  folder.write("tokenizer.json", json);
  folder.write("tokenizer_config.json", config.empty() ? "{}" : config);
  may_refuse([&] { use(Tokenizer(folder.path())); });
}

void sentencepiece(std::string_view input) {
  may_refuse([&] {
    const SentencePieceModel model = parse_sentencepiece_model(input, "tokenizer.model");
    for (const char* name : {"LlamaTokenizer", ""}) {
      TokenizerConfig config;
      config.tokenizer_class = name;
      config.add_prefix_space = *name == '\0';
      tokenizer_json_from_sentencepiece(model, config, "tokenizer.model");
    }
  });
  static const InputFolder folder;
  folder.write("tokenizer.model", input);
  may_refuse([&] { use(Tokenizer(folder.path())); });
}

// A template, and the request behind the separator.
void chat_template(std::string_view input) {
  constexpr std::string_view kRequest =
      R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"Hi"},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}],)"
      R"("tools":[{"type":"function","function":{"name":"f"}}],"add_generation_prompt":true})";
  const auto [source, request] = two_parts(input);
  TokenizerConfig config;
  config.specials.push_back({.role = "bos_token", .token = {.content = "<s>"}});
  config.specials.push_back({.role = "eos_token", .token = {.content = "</s>"}});
  may_refuse([&, source = source, request = request] {
    const ChatTemplate chat(source, config);
    for (const MessageForm form : {MessageForm::kAsGiven, MessageForm::kOpenAi}) {
      const auto prompt = chat.render_at(request.empty() ? kRequest : request, form, 1'700'000'000);
      CHECK(!prompt || is_valid_utf8(*prompt)) << "broken text";
    }
  });
}

}  // namespace foretoken::fuzz
