#include <chrono>
#include <optional>

#include "app/commands.h"
#include "app/draft_vocabulary.h"
#include "app/model_host.h"
#include "app/server_args.h"
#include "app/text_host.h"
#include "base/log.h"
#include "model/generation_config.h"
#include "server/server.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

SamplingDefaults defaults_of_model(const std::string& folder) {
  const auto generation = read_generation_config(folder);
  SamplingDefaults defaults;
  defaults.temperature = generation.temperature;
  defaults.top_p = generation.top_p;
  defaults.top_k = generation.top_k;
  defaults.min_p = generation.min_p;
  defaults.repetition_penalty = generation.repetition_penalty;
  return defaults;
}

// The server's configuration with everything that only the loaded model knows.
ServerConfig complete(const Options& options, const ModelHost& host, const Tokenizer* tokenizer) {
  ServerConfig server = options.server;
  const ModelConfig& model = host.decoder().config();
  server.model_type = model.model_type;
  server.architectures = {model.architecture};
  server.vocab = model.vocab;
  server.context_length = host.config().context_length;
  server.eos = tokenizer != nullptr ? tokenizer->stop_tokens()
                                    : stop_tokens_of(options.load.model_folder, model);
  if (options.sampling_defaults_of_model)
    server.sampling_defaults = defaults_of_model(options.load.model_folder);
  server.weight_bytes = host.weight_bytes();
  server.kv_bytes = host.kv_bytes();
  set_server_arg(server.server_args, "context_length", std::to_string(server.context_length));
  if (const auto shape = host.tree_shape()) {
    server.draft_steps = shape->steps;
    server.draft_nodes = shape->nodes;
    set_server_arg(server.server_args, "speculative_num_steps", std::to_string(shape->steps));
    set_server_arg(server.server_args, "speculative_eagle_topk", std::to_string(shape->topk));
    set_server_arg(server.server_args, "speculative_num_draft_tokens",
                   std::to_string(shape->nodes));
  }
  return server;
}

// A text that any model continues without surprises.
std::vector<Token> self_check_prompt(const Tokenizer* tokenizer, std::int64_t vocab) {
  std::vector<Token> prompt;
  if (tokenizer != nullptr) {
    const auto tokens = tokenizer->encode(
        "One, two, three, four, five, six, seven, eight, nine, ten. Monday, Tuesday, Wednesday,",
        AddSpecial::kYes);
    if (tokens) prompt = *tokens;
  }
  std::erase_if(prompt, [&](Token token) { return token >= vocab; });
  return prompt;
}

}  // namespace

int serve(std::span<const std::string> args) {
  const auto start = Clock::now();
  const Options options =
      resolve_options(parse_flags(args, serve_flags()), Environment::from_process());
  set_log_level(options.log_level);
  log_info("server_args={}", describe_server_args(options.server.server_args));
  for (const auto& warning : options.warnings) log_warning("{}", warning);
  for (const auto& note : options.notes) log_info("{}", note);

  // Text first: it fails fast, weights may take minutes.
  std::optional<TextHost> text;
  if (!options.server.skip_tokenizer_init) text.emplace(options.load);
  const Tokenizer* tokenizer = text ? &text->tokenizer : nullptr;
  if (tokenizer != nullptr) check_draft_vocabulary(*tokenizer, options);
  ModelHost host(options);
  host.engine().start();
  if (!options.skip_warmup) {
    host.warm_up();
    host.check_drafts(self_check_prompt(tokenizer, host.decoder().config().vocab));
  }

  ServerConfig config = complete(options, host, tokenizer);
  config.startup_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  Server server(config, host.engine(), tokenizer, text ? text->template_or_null() : nullptr);
  log_info("Listening on http://{}:{}", config.host, server.port());
  log_info("The server is fired up and ready to roll!");
  server.run();
  host.engine().stop(std::chrono::milliseconds(0));
  return 0;
}

}  // namespace foretoken
