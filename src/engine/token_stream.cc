#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "base/error.h"
#include "engine/cancel_box.h"
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
  append(to.hidden, std::move(from.hidden));
  append(to.traces, std::move(from.traces));
  to.cached_tokens = from.cached_tokens;
  to.retractions = from.retractions;
  to.verify_steps = from.verify_steps;
  to.accepted_drafts = from.accepted_drafts;
  to.proposed_drafts = from.proposed_drafts;
  to.drafts = from.drafts;
  to.accept_histogram = std::move(from.accept_histogram);
  to.finish = std::move(from.finish);
}

void wake_at_last(const std::function<void()>& wake) {
  for (;;) try {
      return wake();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
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
  std::shared_ptr<CancelBox> cancel_box;  // null: not reported
  std::uint64_t arrival = 0;
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
    const bool is_last = delta.finish.has_value();
    if (state->delta)
      merge(*state->delta, std::move(delta));
    else
      state->delta = std::move(delta);
    state->finished = is_last;
    if (is_last) state->cancel_box.reset();
  }
  state->arrived.notify_all();
  if (state->wake) wake_at_last(state->wake);
}

bool TokenStream::finished() const {
  const std::lock_guard lock(state_->mutex);
  return state_->finished;
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

void TokenStream::cancel() {
  const std::lock_guard lock(state_->mutex);
  if (state_->cancelled) return;
  if (state_->cancel_box) state_->cancel_box->post(state_->arrival);
  state_->cancelled = true;
}

void TokenStream::report_cancel_to(std::shared_ptr<CancelBox> box, std::uint64_t arrival) {
  const std::lock_guard lock(state_->mutex);
  if (state_->finished) return;
  state_->cancel_box = std::move(box);
  state_->arrival = arrival;
  if (state_->cancelled) state_->cancel_box->post(arrival);
}

}  // namespace foretoken
