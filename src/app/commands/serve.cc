#include <chrono>
#include <csignal>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/commands/commands.h"
#include "app/host/draft_vocabulary.h"
#include "app/host/first_corpus.h"
#include "app/host/model_host.h"
#include "app/host/text_host.h"
#include "app/machine/machine.h"
#include "app/options/resolve_options.h"
#include "app/options/server_args.h"
#include "app/options/start_table.h"
#include "base/log.h"
#include "draft/catalogue/plan_drafts.h"
#include "model/config/generation_config.h"
#include "server/server.h"
#include "text/grammar_cache.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
  server.hidden_width = model.hidden;
  server.corpora = host.corpora();
  server.context_length = host.config().context_length;
  server.max_running_requests = host.config().max_running_requests;
  server.eos = stop_tokens_of(options.load.model_folder, model.eos,
                              tokenizer != nullptr ? tokenizer->eos() : std::nullopt);
  if (options.sampling_defaults_of_model)
    server.sampling_defaults = defaults_of_model(options.load.model_folder);
  server.weight_bytes = host.weight_bytes();
  server.kv_bytes = host.kv_bytes();
  server.draft_weight_bytes = host.draft_weight_bytes();
  server.draft_kv_bytes = host.draft_kv_bytes();
  server.startup_phases = host.phases();
  set_server_arg(server.server_args, "context_length", std::to_string(server.context_length));
  server.drafters = host.drafters();
  server.drafter_named = drafter_named;
  if (const auto shape = host.tree_shape()) {
    server.draft_method = options.draft.algorithm;
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

// A descriptor per connection, and some for files, pipes and the connections that are turned away.
ServerConfig limited_by_descriptors(ServerConfig server, std::size_t descriptors) {
  constexpr std::size_t kOthers = 128;
  const std::size_t most = descriptors > 2 * kOthers ? descriptors - kOthers : kOthers;
  if (server.max_connections > most) {
    log_warning("{} connections may be open at once, because the limit of file descriptors is {}",
                most, descriptors);
    server.max_connections = most;
  }
  return server;
}

std::string address_of(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

// Found out now rather than by the first request that wants JSON.
void check_whitespace_pattern(const Tokenizer& tokenizer, const ServerConfig& server) {
  if (!server.serves_grammars || !server.json_layout.whitespace_pattern) return;
  GrammarCache grammars(tokenizer);
  const auto grammar = grammars.compile({GrammarSpec::Kind::kJsonSchema, "{}", server.json_layout});
  if (!grammar)
    throw Error({"--constrained-json-whitespace-pattern cannot be used",
                 {},
                 {},
                 grammar.refusal().message});
}

}  // namespace

int serve(std::span<const std::string> args) {
  const auto start = Clock::now();
  std::signal(SIGPIPE, SIG_IGN);  // whoever read the log may leave
  const Options options =
      resolve_options(parse_flags(args, serve_flags()), Environment::from_process());
  set_log_level(options.log_level);
  for (const std::string& line : start_table(options)) log_info("{}", line);
  log_debug("server_args={}", describe_server_args(options.server.server_args));
  for (const auto& warning : options.warnings) log_warning("{}", warning);
  for (const auto& note : options.notes) log_info("{}", note);

  // The port first, then text: what is taken or missing is known at once, weights may take minutes.
  HttpServer http(http_config(limited_by_descriptors(options.server, raise_descriptor_limit())));
  http.start(loading_service());
  log_info("Bound {}: requests are refused with 503 until the model is loaded.",
           address_of(options.server.host, http.port()));
  std::optional<TextHost> text;
  const auto text_start = Clock::now();
  if (!options.server.skip_tokenizer_init) text.emplace(options.load);
  const double text_seconds = seconds_since(text_start);
  const Tokenizer* tokenizer = text ? &text->tokenizer : nullptr;
  if (tokenizer != nullptr) check_draft_vocabulary(*tokenizer, options);
  if (tokenizer != nullptr) check_whitespace_pattern(*tokenizer, options.server);
  ModelHost host(options);
  add_first_corpus(options, tokenizer, host.decoder().config().vocab, host.corpora().get());
  host.engine().start();
  const auto warmup_start = Clock::now();
  if (!options.skip_warmup) {
    host.warm_up();
    host.check_drafts(self_check_prompt(tokenizer, host.decoder().config().vocab));
  }

  ServerConfig config = complete(options, host, tokenizer);
  config.startup_phases.emplace_back("tokenizer_e2e", text_seconds);
  config.startup_phases.emplace_back("warmup", seconds_since(warmup_start));
  config.startup_phases.emplace_back("e2e", seconds_since(start));
  Server server(http, config, host.engine(), tokenizer, text ? text->template_or_null() : nullptr);
  server.open();
  log_info("Listening on {}", address_of(config.host, http.port()));
  log_info("The server is fired up and ready to roll!");
  server.run();
  host.engine().stop(std::chrono::milliseconds(0));
  return 0;
}

}  // namespace foretoken
