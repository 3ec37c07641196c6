// A server whose model says what it is told to: the text between the last <say> and </say> of a
// prompt, a token a byte. So clients meet calls of tools and reasoning, which a model of a few
// megabytes does not write. Everything but the engine and the model's files is the real server.
// A prompt that ends with <endless> instead is answered by a text that no test waits for. Drafts are told as if each
// step had accepted two.
//   scripted_server [--api-key KEY] [--port N]    listens, on a free port unless one is named, which
//                                                 is printed in the log, until SIGTERM

#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "server/server.h"
#include "server/testing/byte_tokenizer.h"
#include "server/testing/fake_engine.h"

namespace foretoken {
namespace {

constexpr std::size_t kEndlessBytes = 1 << 20;

std::vector<Token> answer_to(const Tokenizer& tokenizer, const Request& request) {
  constexpr std::string_view kBegin = "<say>", kEnd = "</say>";
  const std::string prompt = tokenizer.decode(request.prompt, SpecialText::kKeep);
  const auto begin = prompt.rfind(kBegin);
  std::string text = "Nothing was to be said.";
  const auto endless = prompt.rfind("<endless>");
  if (endless != std::string::npos && (begin == std::string::npos || begin < endless)) {
    for (text.clear(); text.size() < kEndlessBytes;) text += "on and on, ";
  } else if (begin != std::string::npos) {
    const auto from = begin + kBegin.size();
    text = prompt.substr(from, prompt.find(kEnd, from) - from);
  }
  auto tokens = byte_tokens(text);
  tokens.push_back(kByteEos);
  return tokens;
}

void serve(std::span<char*> words) {
  const ByteTokenizerFolder folder{ByteTokenizerFolder::Options{}};
  const Tokenizer tokenizer(folder.path());
  const auto chat_template = ChatTemplate::load(folder.path(), tokenizer.config());
  ServerConfig config;
  config.port = 0;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
    const std::string_view name = words[i];
    if (name == "--api-key") config.api_key = words[i + 1];
    if (name == "--port") config.port = std::stoi(words[i + 1]);
  }
  config.model_path = config.tokenizer_path = folder.path();
  config.served_model_name = "scripted";
  config.vocab = kByteVocab;
  config.context_length = 1 << 22;
  config.drafters = {"EAGLE3", "SUFFIX"};
  config.draft_nodes = 4;
  config.eos = {kByteEos};
  config.reasoning_parser = "qwen3";
  config.tool_call_parser = "hermes";
  FakeEngine engine([&](const Request& request) { return answer_to(tokenizer, request); });
  engine.tokens_per_step = 3;
  engine.pace = std::chrono::milliseconds(2);
  engine.with_drafts = true;
  HttpServer http(http_config(config));
  http.start(loading_service());
  Server server(http, config, engine, &tokenizer, &*chat_template);
  server.open();
  std::fprintf(stderr, "Listening on http://127.0.0.1:%d\n", http.port());
  server.run();
}

}  // namespace
}  // namespace foretoken

int main(int count, char** words) { foretoken::serve({words, static_cast<std::size_t>(count)}); }
