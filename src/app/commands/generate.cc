#include <cstdio>

#include <boost/json.hpp>

#include "app/commands/commands.h"
#include "app/host/check_start.h"
#include "app/host/draft_vocabulary.h"
#include "app/host/first_corpus.h"
#include "app/host/model_host.h"
#include "app/host/text_host.h"
#include "base/log.h"
#include "model/config/generation_config.h"
#include "text/text_stream.h"

namespace foretoken {
namespace {

// The prompt of the flags as token ids.
std::vector<Token> encode_prompt(const FlagValues& values, const TextHost& host) {
  const std::string prompt = values.text("--prompt");
  Result<std::string> text = prompt;
  if (values.on("--chat")) {
    if (!host.chat_template) throw Error("--chat: the model has no chat template");
    const boost::json::object request = {{"messages", {{{"role", "user"}, {"content", prompt}}}},
                                         {"add_generation_prompt", true}};
    text = host.chat_template->render(boost::json::serialize(request), MessageForm::kOpenAi);
    if (!text) throw Error(text.refusal().message);
  }
  auto tokens =
      host.tokenizer.encode(*text, values.on("--chat") ? AddSpecial::kNo : AddSpecial::kYes);
  if (!tokens) throw Error("--prompt: " + tokens.refusal().message);
  if (tokens->empty()) throw Error("--prompt: it has no tokens");
  return *tokens;
}

void check_usage(const FlagValues& values) {
  if (values.text("--prompt").empty()) throw UsageError("--prompt: expected a text, found none");
  if (*values.number("--temperature") < 0)
    throw UsageError("--temperature: expected at least 0, found " + values.text("--temperature"));
  if (*values.integer("--max-new-tokens") < 1 || *values.integer("--max-new-tokens") > (1 << 30))
    throw UsageError("--max-new-tokens: expected 1 to 2^30, found " +
                     values.text("--max-new-tokens"));
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Prints the answer as it comes. Throws Error when the engine gives up on it.
void print_answer(TokenStream& stream, const Tokenizer& tokenizer) {
  TextStream text(tokenizer, {});
  for (bool finished = false; !finished;) {
    const TokenDelta delta = stream.wait();
    for (const auto& sampled : delta.tokens) print(text.push(sampled.token).text);
    finished = delta.finish.has_value();
    if (finished && delta.finish->reason != FinishReason::kStop &&
        delta.finish->reason != FinishReason::kLength)
      throw Error(delta.finish->message);
  }
  print(text.finish().text + "\n");
}

}  // namespace

int generate(std::span<const std::string> args) {
  const FlagValues values = parse_flags(args, generate_flags());
  check_usage(values);
  Options options = resolve_checked_options(values, Environment::from_process());
  options.engine.max_running_requests = 1;
  set_log_level(values.given("--log-level") ? options.log_level : LogLevel::kWarning);
  for (const auto& note : options.notes) log_info("{}", note);

  const TextHost text(options.load);
  Request request;
  request.id = "generate";
  request.prompt = encode_prompt(values, text);
  request.sampling.temperature = static_cast<float>(*values.number("--temperature"));
  request.sampling.seed = options.server.random_seed;
  request.sampling.top_logprobs = -1;
  request.max_new_tokens = static_cast<int>(*values.integer("--max-new-tokens"));
  request.stream = std::make_shared<TokenStream>();
  const auto stream = request.stream;

  check_draft_vocabulary(text.tokenizer, options);
  ModelHost host(options);
  add_first_corpus(options, &text.tokenizer, host.decoder().config().vocab, host.corpora().get());
  request.sampling.stop_tokens =
      stop_tokens_of(options.load.model_folder, host.decoder().config().eos, text.tokenizer.eos());
  host.engine().start();
  if (const auto refusal = host.engine().submit(std::move(request))) throw Error(refusal->message);
  print_answer(*stream, text.tokenizer);
  return 0;
}

}  // namespace foretoken
