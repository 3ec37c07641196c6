#include <atomic>
#include <condition_variable>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "engine/request.h"

namespace foretoken {
namespace {

template <typename T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  if (to.empty())
    to = std::move(from);
  else
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Lists grow, counters are totals: the later value holds.
void merge(TokenDelta& to, TokenDelta&& from) {
  append(to.tokens, std::move(from.tokens));
  append(to.prompt_scores, std::move(from.prompt_scores));
  to.cached_tokens = from.cached_tokens;
  to.retractions = from.retractions;
  to.verify_steps = from.verify_steps;
  to.accepted_drafts = from.accepted_drafts;
  to.proposed_drafts = from.proposed_drafts;
  to.accept_histogram = std::move(from.accept_histogram);
  to.finish = std::move(from.finish);
}

}  // namespace

struct TokenStream::State {
  explicit State(std::function<void()> wake_consumer) : wake(std::move(wake_consumer)) {}

  const std::function<void()> wake;
  std::atomic<bool> cancelled{false};

  std::mutex mutex;  // guards what follows
  std::condition_variable arrived;
  std::optional<TokenDelta> delta;
  bool finished = false;
};

TokenStream::TokenStream(std::function<void()> wake)
    : state_(std::make_shared<State>(std::move(wake))) {}

void TokenStream::push(TokenDelta delta) {
  // The consumer may drop the stream as soon as it sees the finish, so the state is kept alive
  // here.
  const std::shared_ptr<State> state = state_;
  {
    const std::lock_guard lock(state->mutex);
    CHECK(!state->finished) << "a stream was pushed to after its finish";
    state->finished = delta.finish.has_value();
    if (state->delta)
      merge(*state->delta, std::move(delta));
    else
      state->delta = std::move(delta);
  }
  state->arrived.notify_all();
  if (state->wake) state->wake();
}

bool TokenStream::cancelled() const { return state_->cancelled.load(std::memory_order_relaxed); }

std::optional<TokenDelta> TokenStream::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->delta, std::nullopt);
}

TokenDelta TokenStream::wait() {
  std::unique_lock lock(state_->mutex);
  state_->arrived.wait(lock, [&] { return state_->delta.has_value(); });
  return *std::exchange(state_->delta, std::nullopt);
}

void TokenStream::cancel() { state_->cancelled.store(true, std::memory_order_relaxed); }

}  // namespace foretoken
