// A server whose model says what it is told to: the text between the last <say> and </say> of a
// prompt, a token a byte. So clients meet calls of tools and reasoning, which a model of a few
// megabytes does not write. Everything but the engine and the model's files is the real server.
//   scripted_server    listens on a free port, printed in the log, until SIGTERM

#include <cstdio>
#include <string>
#include <string_view>

#include "server/server.h"
#include "server/testing/byte_tokenizer.h"
#include "server/testing/fake_engine.h"

namespace foretoken {
namespace {

std::vector<Token> answer_to(const Tokenizer& tokenizer, const Request& request) {
  constexpr std::string_view kBegin = "<say>", kEnd = "</say>";
  const std::string prompt = tokenizer.decode(request.prompt, SpecialText::kKeep);
  const auto begin = prompt.rfind(kBegin);
  std::string text = "Nothing was to be said.";
  if (begin != std::string::npos) {
    const auto from = begin + kBegin.size();
    text = prompt.substr(from, prompt.find(kEnd, from) - from);
  }
  auto tokens = byte_tokens(text);
  tokens.push_back(kByteEos);
  return tokens;
}

void serve() {
  const ByteTokenizerFolder folder{ByteTokenizerFolder::Options{}};
  const Tokenizer tokenizer(folder.path());
  const auto chat_template = ChatTemplate::load(folder.path(), tokenizer.config());
  ServerConfig config;
  config.port = 0;
  config.model_path = config.tokenizer_path = folder.path().string();
  config.served_model_name = "scripted";
  config.vocab = kByteVocab;
  config.context_length = 1 << 16;
  config.eos = {kByteEos};
  config.reasoning_parser = "qwen3";
  config.tool_call_parser = "hermes";
  FakeEngine engine([&](const Request& request) { return answer_to(tokenizer, request); });
  engine.tokens_per_step = 3;
  HttpServer http(http_config(config));
  http.start(loading_service());
  Server server(http, config, engine, &tokenizer, &*chat_template);
  server.open();
  std::fprintf(stderr, "Listening on http://127.0.0.1:%d\n", http.port());
  server.run();
}

}  // namespace
}  // namespace foretoken

int main() { foretoken::serve(); }
