#include "app/commands/served_model.h"

#include <atomic>
#include <exception>
#include <future>
#include <optional>
#include <string>

#include "app/commands/commands.h"
#include "app/host/draft_candidates.h"
#include "app/host/draft_vocabulary.h"
#include "app/host/first_corpus.h"
#include "app/host/model_host.h"
#include "app/host/text_host.h"
#include "app/machine/machine.h"
#include "app/options/server_args.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/seconds_since.h"
#include "draft/catalogue/plan_drafts.h"
#include "model/config/generation_config.h"
#include "server/routes/page/page.h"
#include "server/server.h"
#include "text/grammar_cache.h"

namespace foretoken {
namespace {

using Clock = ServedModel::Clock;

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
  server.backend = host.ops().description();
  set_server_arg(server.server_args, "context_length", std::to_string(server.context_length));
  set_server_arg(server.server_args, "max_total_tokens",
                 std::to_string(host.config().total_tokens));
  server.drafters = host.drafters();
  server.drafter_named = [setup = host.planned_drafts()](const std::string& name) {
    return wished_drafter(name, setup);
  };
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

// The tokenizer and what is checked with it, read while the weights are. What is wrong with them
// ends the program at once, because weights may take minutes.
class LoadingText {
 public:
  explicit LoadingText(const Options& options)
      : done_(std::async(std::launch::async, [this, &options] { load(options); })) {}

  // Null: the options want none.
  const TextHost* wait() {
    done_.wait();
    return text_ ? &*text_ : nullptr;
  }
  double seconds() const { return seconds_; }

 private:
  void load(const Options& options) {
    if (options.server.skip_tokenizer_init) return;
    const auto start = Clock::now();
    try {
      text_.emplace(options.load);
      check_draft_vocabulary(text_->tokenizer, options);
      check_whitespace_pattern(text_->tokenizer, options.server);
    } catch (const std::exception& fault) {
      end_program(fault);
    }
    seconds_ = seconds_since(start);
  }

  std::optional<TextHost> text_;
  double seconds_ = 0;
  std::future<void> done_;
};

}  // namespace

struct ServedModel::State {
  State(const Options& given, Clock::time_point begin)
      : options(given),
        start(begin),
        http(http_config(limited_by_descriptors(given.server, raise_descriptor_limit()))) {}

  const Options& options;
  Clock::time_point start;
  HttpServer http;
  std::optional<LoadingText> text;
  std::optional<ModelHost> host;
  ServerConfig config;  // the server refers to it
  std::optional<Server> server;
  bool stops_when_lost = false;
  std::atomic<bool> has_lost{false};
};

ServedModel::ServedModel(const Options& options, Clock::time_point start)
    : state_(std::make_unique<State>(options, start)) {
  state_->http.start(options.server.serves_page ? with_page(loading_service()) : loading_service());
}

ServedModel::~ServedModel() = default;

int ServedModel::port() const { return state_->http.port(); }

void ServedModel::load() {
  const Options& options = state_->options;
  LoadingText& loading = state_->text.emplace(options);
  if (!options.draft.folder.empty()) loading.wait();
  ModelHost& host = state_->host.emplace(options);
  host.engine().on_device_lost([state = state_.get()] {
    state->has_lost = true;
    if (state->stops_when_lost) state->http.stop();
  });
  host.engine().start();
  const auto warmup_start = Clock::now();
  if (!options.skip_warmup) host.warm_up();
  const TextHost* text = loading.wait();
  const Tokenizer* tokenizer = text != nullptr ? &text->tokenizer : nullptr;
  add_first_corpus(options, tokenizer, host.decoder().config().vocab, host.corpora().get());
  if (!options.skip_warmup)
    host.check_drafts(self_check_prompt(tokenizer, host.decoder().config().vocab));

  ServerConfig& config = state_->config;
  config = complete(options, host, tokenizer);
  config.startup_phases.emplace_back("tokenizer_e2e", loading.seconds());
  config.startup_phases.emplace_back("warmup", seconds_since(warmup_start));
  config.startup_phases.emplace_back("e2e", seconds_since(state_->start));
  state_->server.emplace(state_->http, config, host.engine(), tokenizer,
                         text != nullptr ? text->template_or_null() : nullptr);
  release_free_heap();  // what loading has used
  state_->server->open();
}

void ServedModel::name_drafters() const {
  const Options& options = state_->options;
  constexpr std::size_t kMostNamed = 3;
  if (!options.draft.is_unasked) return;
  try {
    std::size_t named = 0;
    for (const DraftCandidate& each :
         find_draft_candidates({.model = options.load.model_folder, .cache = options.hub_cache},
                               state_->host->decoder().config())) {
      if (!each.fault.empty() || named++ == kMostNamed) return;
      log_info(
          "{} could draft for this model: --speculative-algorithm {} "
          "--speculative-draft-model-path {}",
          each.path, each.algorithm, each.path);
    }
  } catch (const std::exception& fault) {
    log_debug("No draft models were looked for: {}", fault.what());
  }
}

void ServedModel::run() {
  state_->server->run();
  state_->host->engine().stop(std::chrono::milliseconds(0));
}

void ServedModel::stop() { state_->http.stop(); }

void ServedModel::stop_when_device_is_lost() { state_->stops_when_lost = true; }

bool ServedModel::has_lost_device() const { return state_->has_lost; }

}  // namespace foretoken
