#include "app/commands/tune_hosts.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/host/model_host.h"
#include "app/machine/fingerprint.h"
#include "base/index.h"
#include "base/log.h"
#include "base/seconds_since.h"
#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/plan_drafts.h"
#include "kv/kv_dtype.h"
#include "model/config/generation_config.h"
#include "text/text_stream.h"
#include "tune/candidate_recorder.h"

namespace foretoken {
namespace {

constexpr int kRecordedAtOnce = 16;
constexpr int kTopLogprobs = 20;

// Every request is computed whole, as it will be by settings that are compared.
Options options_for(const Options& options, int at_once) {
  Options own = options;
  own.engine.max_running_requests = at_once;
  own.engine.max_queued_requests = 0;
  own.engine.radix_cache = false;
  own.draft.serves_predictions = own.draft.serves_constraints = false;
  return own;
}

// The conversation as token ids, the answer yet to come. messages: user, assistant, user, ...
std::vector<Token> encode(const TextHost& host, const std::vector<std::string>& messages) {
  std::string text = messages.back();
  if (host.chat_template) {
    boost::json::array list;
    for (std::size_t i = 0; i < messages.size(); ++i)
      list.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", messages[i]}});
    const boost::json::object request{{"messages", list}, {"add_generation_prompt", true}};
    const auto rendered =
        host.chat_template->render(boost::json::serialize(request), MessageForm::kOpenAi);
    if (!rendered) throw Error("a prompt: " + rendered.refusal().message);
    text = *rendered;
  }
  auto tokens =
      host.tokenizer.encode(text, host.chat_template ? AddSpecial::kNo : AddSpecial::kYes);
  if (!tokens) throw Error("a prompt: " + tokens.refusal().message);
  return *tokens;
}

std::string text_of(const TextHost& host, const std::vector<Token>& tokens) {
  TextStream stream(host.tokenizer, {});
  std::string text;
  for (const Token token : tokens) text += stream.push(token).text;
  return text + stream.finish().text;
}

std::string quantization_text(const Quantization& quantization) {
  return quantization.text() + (quantization.layers.searches_scale ? " searched" : "");
}

// As the answers of the record were asked for, but for their logprobs.
AnswerWish answer_wish(const Record& record) {
  return {.max_new_tokens = record.identity.max_new_tokens,
          .temperature = record.identity.temperature,
          .top_logprobs = -1,
          .stop_tokens = record.identity.stop_tokens};
}

// Nothing where nothing was asked for: records from before stay valid.
std::string kv_text(std::optional<DType> dtype) {
  return dtype ? fmt::format(" kv {}", kv_dtype_name(*dtype)) : std::string{};
}

}  // namespace

// ---- identity

RecordIdentity identity_of(const Options& options, const TuneOptions& tune) {
  const DraftOptions& draft = options.draft;
  RecordIdentity identity;
  identity.model = options.load.model_folder;
  const std::string made_up =
      options.load.load_format == "dummy" ? std::to_string(options.load.seed) : "";
  const std::string how =
      fmt::format("{} {} {} {}{}", options.load.dtype, quantization_text(options.load.quantization),
                  options.load.config_overrides, made_up, kv_text(options.load.kv_dtype));
  identity.model_print = fingerprint(options.load.model_folder, how);
  identity.tokenizer_print = tokenizer_fingerprint(options.load.tokenizer_path);
  identity.algorithm = model_algorithm(draft);
  identity.max_new_tokens = tune.max_new_tokens;
  identity.temperature = tune.temperature;
  if (identity.algorithm.empty()) return identity;
  identity.draft = draft.folder.empty() ? draft.target_folder : draft.folder;
  std::string map;
  if (draft.token_map == kAllTokens)
    map = draft.token_map;
  else if (!draft.token_map.empty())
    map = fingerprint(draft.token_map);
  identity.draft_print =
      fingerprint(identity.draft,
                  fmt::format("{} {} {} {} {}{}", draft.load.dtype,
                              quantization_text(draft.load.quantization), draft.load.load_format,
                              map, draft.window.value_or(0), kv_text(draft.load.kv_dtype)));
  identity.steps = tune.record_steps;
  identity.topk = tune.record_topk;
  return identity;
}

void check_identity(const RecordIdentity& record, const RecordIdentity& here,
                    const std::string& path) {
  const auto refuse = [&](const char* what, const std::string& expected, const std::string& found) {
    throw Error({.what = what, .where = path, .expected = expected, .found = found});
  };
  if (record.model_print != here.model_print)
    refuse("the record is of another model", here.model + " (" + here.model_print + ")",
           record.model + " (" + record.model_print + ")");
  if (record.tokenizer_print != here.tokenizer_print)
    refuse("the record is of another tokenizer", here.tokenizer_print, record.tokenizer_print);
  if (here.algorithm.empty()) return;
  if (record.algorithm != here.algorithm)
    refuse("the record has no candidates of this algorithm", here.algorithm,
           record.algorithm.empty() ? "none" : record.algorithm);
  if (record.draft_print != here.draft_print)
    refuse("the record is of another draft model", here.draft + " (" + here.draft_print + ")",
           record.draft + " (" + record.draft_print + ")");
}

// ---- recording

void record(const Options& options, const TuneOptions& tune, const TextHost& text,
            const std::vector<PromptText>& prompts, RecordIdentity identity,
            const std::string& path, const std::atomic<bool>& stop, const OnShare& on_share) {
  Options own = options_for(options, kRecordedAtOnce);
  own.draft.algorithm = identity.algorithm;
  own.draft.own = {};
  const TreeShape room = CandidateRecorder::needed_room(identity.steps, identity.topk);
  if (identity.has_candidates()) {
    own.draft.steps = room.steps;
    own.draft.topk = room.topk;
    own.draft.nodes = room.nodes;
  }
  CandidateRecorder* recorder = nullptr;
  ModelHost host(own, [&](Ops& ops, std::unique_ptr<DraftModel> model, const DraftSetup&,
                          int num_pages, int num_slots) {
    if (!model) return make_null_drafter();
    model->allocate_kv(num_pages);
    auto made = std::make_unique<CandidateRecorder>(ops, std::move(model), identity.steps,
                                                    identity.topk, num_pages, num_slots);
    recorder = made.get();
    return std::unique_ptr<Drafter>(std::move(made));
  });
  const ModelConfig& config = host.decoder().config();
  identity.architecture = config.architecture;
  identity.backend = host.ops().description();
  identity.vocab = config.vocab;
  identity.stop_tokens =
      stop_tokens_of(options.load.model_folder, config.eos, text.tokenizer.eos());
  RecordWriter writer(path, identity);
  const AnswerWish wish{.max_new_tokens = tune.max_new_tokens,
                        .temperature = tune.temperature,
                        .top_logprobs = kTopLogprobs,
                        .stop_tokens = identity.stop_tokens};
  host.engine().start();

  std::size_t all = 0, done = 0;
  for (const PromptText& prompt : prompts) all += std::min(prompt.turns.size(), at(tune.turns));
  std::vector<std::vector<std::string>> said(prompts.size());
  for (int turn = 0; turn < tune.turns && !stop; ++turn) {
    std::vector<TunePrompt> asked;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (prompts[i].turns.size() <= at(turn) || said[i].size() != at(2 * turn)) continue;
      said[i].push_back(prompts[i].turns[at(turn)]);
      std::vector<Token> tokens = encode(text, said[i]);
      if (tokens.empty() ||
          std::ssize(tokens) + tune.max_new_tokens > host.config().context_length) {
        log_warning("Prompt {} is left out: it has {} tokens, and the context {}.", i + 1,
                    tokens.size(), host.config().context_length);
        continue;
      }
      asked.push_back({.category = prompts[i].category,
                       .number = static_cast<std::uint32_t>(i),
                       .tokens = std::move(tokens)});
    }
    record_answers(host.engine(), recorder, asked, wish, kRecordedAtOnce, stop,
                   [&](const RecordedText& answer) {
                     writer.add(answer);
                     said[answer.number].push_back(text_of(text, answer.output));
                     on_share(static_cast<double>(++done) / static_cast<double>(all));
                   });
  }
  if (done == 0 && !stop) throw Error("--prompts: none of them fits into the context");
}

// ---- costs

struct CostProbe::State {
  State(const Options& options, const SettingBase& base, const Record& record, int requests)
      : pace(std::make_shared<ProbePace>(base.steps)),
        host(options,
             [this](Ops& ops, std::unique_ptr<DraftModel> model, const DraftSetup& setup,
                    int num_pages, int num_slots) {
               return make_drafter(ops, std::move(model), setup, num_pages, num_slots, pace);
             }),
        wish(answer_wish(record)),
        at_once(requests) {
    for (const RecordedText& text : record.texts)
      prompts.push_back({.category = {}, .number = text.number, .tokens = text.prompt});
  }

  std::shared_ptr<ProbePace> pace;
  ModelHost host;
  std::vector<TunePrompt> prompts;
  const AnswerWish wish;
  const int at_once;
};

CostProbe::CostProbe(const Options& options, const SettingBase& base, const Record& record,
                     int at_once) {
  constexpr int kMostRows = 256;  // of trees in a step
  Options own = options_for(options, at_once);
  own.draft.algorithm =
      base.algorithm.empty() ? std::string(usual_text_algorithm().name) : base.algorithm;
  const int nodes = std::clamp(kMostRows / at_once, 8, kMaxTreeNodes);
  if (!base.algorithm.empty()) {
    own.draft.steps = base.steps;
    own.draft.topk = base.topk;
    own.draft.nodes = std::min(nodes, 1 + most_candidates(base.steps, base.topk));
  } else {
    own.draft.steps = own.draft.topk = std::nullopt;
    own.draft.nodes = std::min(nodes, 33);
  }
  state_ = std::make_unique<State>(own, base, record, at_once);
  state_->host.engine().start();
  state_->host.warm_up();
}

CostProbe::~CostProbe() = default;

void CostProbe::work(double seconds, const std::atomic<bool>& stop, const OnShare& on_share) {
  watch_costs(state_->host.engine(), *state_->pace, state_->prompts, state_->wish, state_->at_once,
              seconds, stop, on_share);
}

StepCosts CostProbe::take() { return state_->pace->take_costs(); }

// ---- for real

struct RealRun::State {
  State(const Options& options, const Record& of) : host(options), record(of) {}
  ModelHost host;
  const Record& record;
};

RealRun::RealRun(const Options& options, const TuneSetting& setting, const Record& record,
                 int at_once) {
  Options own = options_for(options, at_once);
  own.draft = setting.draft;
  state_ = std::make_unique<State>(own, record);
  state_->host.engine().start();
  state_->host.warm_up();
}

RealRun::~RealRun() = default;

RealRun::Result RealRun::run() {
  const Record& record = state_->record;
  const AnswerWish wish = answer_wish(record);
  // What the round before has left in drafters that read texts.
  state_->host.engine().flush_cache().wait();
  std::vector<Request> requests;
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (const RecordedText& text : record.texts) {
    requests.push_back(request_of({.category = {}, .number = 0, .tokens = text.prompt}, wish));
    streams.push_back(requests.back().stream);
  }
  Result result;
  const auto start = std::chrono::steady_clock::now();
  for (Request& request : requests)
    if (const auto refusal = state_->host.engine().submit(std::move(request)))
      throw Error(refusal->message);
  for (const auto& stream : streams)
    for (bool is_finished = false; !is_finished;) {
      const TokenDelta delta = stream->wait();
      result.tokens += std::ssize(delta.tokens);
      if (!delta.finish) continue;
      is_finished = true;
      result.steps += delta.verify_steps;
      result.accepted += delta.accepted_drafts;
    }
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace foretoken
