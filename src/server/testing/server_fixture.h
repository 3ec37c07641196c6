#pragma once
// ServerTest: a Server on a free port with a FakeEngine and the byte tokenizer behind it. The
// script echoes a fixed text and then the end token, unless a test sets another one.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "server/server.h"
#include "server/testing/byte_tokenizer.h"
#include "server/testing/fake_engine.h"
#include "server/testing/http_client.h"

namespace foretoken {

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    config.port = 0;
    config.model_path = "/models/bytes";
    config.tokenizer_path = "/models/bytes";
    config.served_model_name = "bytes";
    config.vocab = kByteVocab;
    config.hidden_width = 2;
    config.context_length = 512;
    config.eos = {kByteEos};
    config.handle_signals = false;
    config.drain_seconds = 5;
    config.enable_metrics = true;
  }
  ~ServerTest() override { stop(); }

  void start() {
    http.emplace(http_config(config));
    http->start(loading_service());
    server.emplace(*http, config, engine, with_tokenizer ? &tokenizer() : nullptr,
                   with_tokenizer ? &*chat_template() : nullptr);
    port = http->port();
    server->open();
    thread = std::thread([this] { server->run(); });
  }
  void stop() {
    if (!server) return;
    http->stop();
    if (thread.joinable()) thread.join();
    server.reset();
    http.reset();
  }

  // The model's answer to everything: `text`, then the end token.
  void answer_with(std::string_view text) {
    answer = byte_tokens(text);
    answer.push_back(kByteEos);
  }

  // Waits until `condition` holds, at most ten seconds.
  static bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  // Parses, failing the test when it is no JSON.
  static boost::json::value json_of(const std::string& text) {
    boost::system::error_code error;
    auto value = boost::json::parse(text, error);
    EXPECT_FALSE(error) << error.message() << " in " << text;
    return value;
  }

  // What a model's folder says about text.
  struct Text {
    explicit Text(ByteTokenizerFolder::Options options)
        : folder(options),
          tokenizer(folder.path()),
          chat_template(ChatTemplate::load(folder.path(), tokenizer.config())) {}
    ByteTokenizerFolder folder;
    Tokenizer tokenizer;
    std::optional<ChatTemplate> chat_template;
  };
  const Text& text() const {
    static const Text plain({}), with_bos({.adds_bos = true}),
        without_tools({.shows_tools = false}),
        with_marks({.marks = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>",
                              "<|endoftext|>"}});
    if (!text_options.words.empty()) {
      if (!with_words) with_words.emplace(text_options);
      return *with_words;
    }
    if (text_options.adds_bos) return with_bos;
    if (!text_options.marks.empty()) return with_marks;
    return text_options.shows_tools ? plain : without_tools;
  }
  const Tokenizer& tokenizer() const { return text().tokenizer; }
  const std::optional<ChatTemplate>& chat_template() const { return text().chat_template; }

  ByteTokenizerFolder::Options text_options;  // of the tokenizer
  mutable std::optional<Text> with_words;     // made once, by the words of the first use

  ServerConfig config;
  bool with_tokenizer = true;
  std::vector<Token> answer = [] {
    auto tokens = byte_tokens("Hello, world!");
    tokens.push_back(kByteEos);
    return tokens;
  }();
  FakeEngine::Script script;  // where it is set, instead of `answer`
  FakeEngine engine{[this](const Request& request) { return script ? script(request) : answer; }};
  std::optional<HttpServer> http;
  std::optional<Server> server;
  std::thread thread;
  int port = 0;
};

}  // namespace foretoken
