// Tokenizers and chat templates.

#include <filesystem>
#include <optional>

#include "kit.h"
#include "targets.h"
#include "text/chat_template.h"
#include "text/detokenizer.h"
#include "text/sentencepiece_model.h"
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

}  // namespace

// tokenizer.json, and tokenizer_config.json behind the separator.
void tokenizer_json(std::string_view input) {
  static const TempFolder folder;
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
  static const TempFolder folder;
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
