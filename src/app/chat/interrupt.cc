#include "app/chat/interrupt.h"

namespace foretoken {
namespace {

std::atomic<bool> is_wished{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler sets it

void wish(int) { is_wished = true; }

}  // namespace

InterruptGuard::InterruptGuard() {
  forget();
  struct sigaction action{};
  action.sa_handler = wish;
  action.sa_flags = SA_RESTART;  // what is written meanwhile is written
  sigaction(SIGINT, &action, &before_);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

const std::atomic<bool>& InterruptGuard::flag() const { return is_wished; }

void InterruptGuard::forget() { is_wished = false; }

}  // namespace foretoken
