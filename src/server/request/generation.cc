#include "server/request/generation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/rng.h"
#include "server/request/request_log.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

// Prompt tokens that are submitted in one turn of the strand, a request counting for some at least:
// the engine looks at all of them, and the thread has other connections to serve.
constexpr std::size_t kTokensPerTurn = 1 << 18, kTokensOfRequest = 1 << 10;

// Unsent bytes above which a stream takes no more tokens from the engine.
constexpr std::size_t kMaxBacklog = 256 << 10;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::vector<Token> ids_of(const std::vector<SampledToken>& tokens) {
  std::vector<Token> ids;
  for (const SampledToken& token : tokens) ids.push_back(token.token);
  return ids;
}

class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(ServerContext& context, std::shared_ptr<Exchange> exchange, GenerationPlan plan)
      : context_(context),
        exchange_(std::move(exchange)),
        format_(std::move(plan.format)),
        stream_(plan.stream),
        errors_(plan.errors),
        stream_interval_(static_cast<std::size_t>(std::max(1, plan.stream_interval))),
        requests_(std::move(plan.requests)),
        choices_(std::move(plan.choices)) {}

  ~Generation() { release_ids(); }

  // Before start(), on any thread: all that takes time. Refusal: an id is in use.
  std::optional<Refusal> prepare();
  void start();
  void refuse(const Refusal& refusal);

 private:
  struct Timing {
    std::shared_ptr<TokenStream> stream;
    Clock::time_point last_token;
    bool done = false;
  };

  void submit_some();
  void release_ids();
  void wake();
  void pump();
  void take(std::size_t i);
  void on_end(std::size_t i);
  void account(std::size_t i, bool aborted);
  bool is_due(const RunningChoice& choice) const;
  void show_progress();
  void answer();
  void on_closed();
  const RunningChoice* common_failure() const;

  ServerContext& context_;
  std::shared_ptr<Exchange> exchange_;
  std::unique_ptr<AnswerFormat> format_;
  bool stream_;
  ErrorStyle errors_;
  std::size_t stream_interval_;
  std::vector<Request> requests_;  // beside choices_, until they are submitted
  std::size_t submitted_ = 0;      // of them
  std::shared_ptr<RunningIds> running_ids_ = context_.running_ids;
  std::vector<std::string> claimed_;

  const Clock::time_point arrived_ = exchange_->request().arrived;
  std::vector<RunningChoice> choices_;
  std::vector<Timing> timings_;  // beside choices_
  std::size_t running_ = 0;
  bool stream_open_ = false;
  bool over_ = false;
  std::atomic<bool> awake_{false};  // a pump is posted
};

void Generation::start() {
  if (context_.draining) return refuse({"the server is shutting down", 503});
  exchange_->on_closed([self = shared_from_this()] { self->on_closed(); });
  exchange_->on_drained([self = shared_from_this()] { self->pump(); });
  running_ = choices_.size();
  submit_some();
}

// Texts that may inform the drafts of this request: those of its cache salt, else of its API key.
std::uint64_t draft_scope(const Request& request, const HttpRequest& http) {
  if (request.cache_salt != 0) return request.cache_salt;
  std::string_view key = http.header("authorization");
  if (key.empty()) key = http.header("x-api-key");
  return key.empty() ? 0 : mix_seed(std::hash<std::string_view>()(key), 1);
}

std::optional<Refusal> Generation::prepare() {
  for (const Request& request : requests_) {
    if (!running_ids_->claim(request.id))
      return Refusal{"Duplicate request ID detected: " + request.id, 400};
    claimed_.push_back(request.id);
  }
  for (Request& request : requests_) {
    request.draft_scope = draft_scope(request, exchange_->request());
    request.stream = std::make_shared<TokenStream>([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->wake();
    });
    timings_.push_back({request.stream, {}, false});
    log_received(context_.config, exchange_->request(), request);
  }
  return std::nullopt;
}

void Generation::submit_some() {
  std::size_t tokens = 0;
  while (submitted_ < requests_.size() && tokens < kTokensPerTurn) {
    if (over_) return;  // the client has gone
    Request& request = requests_[submitted_++];
    tokens += request.prompt.size() + kTokensOfRequest;
    if (const auto refusal = context_.engine.submit(std::move(request))) {
      for (const auto& timing : timings_) timing.stream->cancel();
      return refuse(*refusal);
    }
  }
  if (submitted_ == requests_.size()) {
    requests_ = {};
    submitted_ = 0;
  } else {
    exchange_->post([self = shared_from_this()] { self->submit_some(); });
  }
}

void Generation::release_ids() {
  for (const auto& id : claimed_) running_ids_->release(id);
  claimed_.clear();
}

void Generation::refuse(const Refusal& refusal) {
  over_ = true;
  release_ids();
  exchange_->reply(error_reply(errors_, refusal));
}

// On the engine's thread.
void Generation::wake() {
  if (awake_.exchange(true)) return;
  try {
    exchange_->post([self = shared_from_this()] { self->pump(); });
  } catch (...) {  // no memory: the engine will try again
    awake_ = false;
    throw;
  }
}

void Generation::pump() {
  awake_ = false;
  if (over_) return;
  if (stream_ && exchange_->backlog() > kMaxBacklog) return;  // pumped again when drained
  for (std::size_t i = 0; i < choices_.size(); ++i)
    if (!timings_[i].done) take(i);
  if (stream_) show_progress();
  if (running_ == 0) answer();
}

void Generation::take(std::size_t i) {
  auto delta = timings_[i].stream->take();
  if (!delta) return;
  Choice& choice = choices_[i].choice;
  const auto before = choice.tokens().size();
  choice.absorb(*std::move(delta));
  const auto gained = static_cast<std::int64_t>(choice.tokens().size() - before);
  const auto now = Clock::now();
  if (gained > 0) {
    if (before == 0)
      context_.metrics.observe_first_token(seconds_between(arrived_, now));
    else
      context_.metrics.observe_tokens(gained, seconds_between(timings_[i].last_token, now));
    timings_[i].last_token = now;
  }
  if (choice.is_finished()) on_end(i);
}

void Generation::on_end(std::size_t i) {
  RunningChoice& running = choices_[i];
  timings_[i].done = true;
  timings_[i].stream->cancel();  // the engine may not know of a stop string yet
  --running_;
  const bool is_aborted = running.choice.end()->kind == ChoiceEnd::Kind::kAbort;
  if (running.turn && !is_aborted) running.turn->finish(ids_of(running.choice.tokens()));
  account(i, is_aborted);
}

// Once per choice, however it ended.
void Generation::account(std::size_t i, bool aborted) {
  RunningChoice& running = choices_[i];
  const bool counts_prompt = running.first_of_prompt;
  running.seconds = seconds_between(arrived_, Clock::now());
  context_.metrics.observe_finished(
      {.prompt_tokens = counts_prompt ? running.prompt_tokens : 0,
       .cached_tokens = counts_prompt ? running.choice.counters().cached_tokens : 0,
       .completion_tokens = static_cast<std::int64_t>(running.choice.tokens().size()),
       .e2e_seconds = running.seconds,
       .aborted = aborted});
  log_finished(context_.config, running);
}

bool Generation::is_due(const RunningChoice& choice) const {
  const std::size_t fresh = choice.choice.tokens().size() - choice.shown_tokens;
  if (choice.choice.is_finished()) return true;
  return fresh > 0 && (!choice.opened || fresh >= stream_interval_);
}

void Generation::show_progress() {
  if (!stream_open_ && common_failure() != nullptr) return;  // answered with its status
  std::string events;
  for (RunningChoice& choice : choices_) {
    if (choice.closed || !is_due(choice)) continue;
    format_->write_event(choice, events);
    choice.opened = true;
    choice.shown_text = choice.choice.text().size();
    choice.shown_tokens = choice.choice.tokens().size();
    choice.shown_steps = choice.choice.traces().size();
    choice.closed = choice.choice.is_finished();
  }
  if (events.empty()) return;
  if (!stream_open_) exchange_->start_stream("text/event-stream; charset=utf-8");
  stream_open_ = true;
  exchange_->send(std::move(events));
}

// When every choice failed, one failure is the whole answer (unless a stream has begun).
const RunningChoice* Generation::common_failure() const {
  const RunningChoice* failed = nullptr;
  for (const RunningChoice& choice : choices_) {
    const auto& end = choice.choice.end();
    if (!end || end->kind != ChoiceEnd::Kind::kAbort || end->status == 0) return nullptr;
    failed = &choice;
  }
  return failed;
}

void Generation::answer() {
  over_ = true;
  release_ids();  // before the client sees the end, and may ask again under the same id
  if (const auto* failed = common_failure(); failed != nullptr && !stream_open_) {
    const auto& end = *failed->choice.end();
    // SGLang raises what its scheduler ended as an HTTP error, which has this shape on its routes.
    const ErrorStyle style = errors_ == ErrorStyle::kNative ? ErrorStyle::kOpenAi : errors_;
    return exchange_->reply(error_reply(style, {end.message, end.status}));
  }
  if (!stream_) return exchange_->reply(format_->whole(choices_));
  std::string ending;
  format_->write_ending(choices_, ending);
  if (format_->ends_with_done()) append_event(ending, "[DONE]");
  if (!ending.empty()) exchange_->send(std::move(ending));
  exchange_->finish_stream();
}

void Generation::on_closed() {
  over_ = true;
  release_ids();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (timings_[i].done) continue;
    timings_[i].stream->cancel();
    account(i, true);
  }
}

}  // namespace

RunningChoice& GenerationPlan::add(Request request, Choice output) {
  RunningChoice& choice = choices.emplace_back(request, std::move(output));
  choice.index = static_cast<int>(choices.size()) - 1;
  requests.push_back(std::move(request));
  return choice;
}

void start_generation(ServerContext& context, std::shared_ptr<Exchange> exchange,
                      GenerationPlan plan) {
  Exchange& on = *exchange;
  auto generation = std::make_shared<Generation>(context, std::move(exchange), std::move(plan));
  if (const auto refusal = generation->prepare()) return generation->refuse(*refusal);
  on.post([generation] { generation->start(); });
}

}  // namespace foretoken
