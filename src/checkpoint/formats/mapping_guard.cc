#include "checkpoint/formats/mapping_guard.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

#include "base/index.h"

namespace foretoken {

// What the handler sees of a guard. Slots are used again and never freed, because a handler may be
// reading one at any time; there are as many as files were ever mapped at once.
struct MappingGuard::Slot {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  // 0: free
  std::atomic<bool> hit{false};
  Slot* next = nullptr;
};

namespace {

std::atomic<MappingGuard::Slot*> slots{nullptr};
std::mutex slots_mutex;  // guards taking and adding slots
struct sigaction action_before{};
std::uintptr_t page_bytes = 0;

// Async-signal-safe: atomics and a system call.
bool fill_with_zeros(std::uintptr_t address) {
  for (auto* slot = slots.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    const std::uintptr_t end = slot->end.load(std::memory_order_acquire);
    if (address < slot->begin.load(std::memory_order_acquire) || address >= end) continue;
    slot->hit.store(true, std::memory_order_release);
    // To the end, not one page: what ends here ends for all later pages, too.
    const std::uintptr_t page = address / page_bytes * page_bytes;
    return mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool is_ours = fill_with_zeros(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved;
  if (is_ours) return;
  if ((action_before.sa_flags & SA_SIGINFO) != 0)
    return action_before.sa_sigaction(signal, info, context);
  if (action_before.sa_handler != SIG_DFL && action_before.sa_handler != SIG_IGN)
    return action_before.sa_handler(signal);
  sigaction(SIGBUS, &action_before, nullptr);  // the read is tried again, and ends the process
}

void install_handler() {
  page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &action_before);
}

MappingGuard::Slot* take_slot(std::uintptr_t begin, std::uintptr_t end) {
  const std::lock_guard lock(slots_mutex);
  auto* slot = slots.load(std::memory_order_relaxed);
  while (slot != nullptr && slot->end.load(std::memory_order_relaxed) != 0) slot = slot->next;
  const bool is_new = slot == nullptr;
  if (is_new) slot = new MappingGuard::Slot;
  slot->hit.store(false, std::memory_order_relaxed);
  slot->begin.store(begin, std::memory_order_release);
  slot->end.store(end, std::memory_order_release);
  if (!is_new) return slot;
  slot->next = slots.load(std::memory_order_relaxed);
  slots.store(slot, std::memory_order_release);
  return slot;
}

}  // namespace

MappingGuard::MappingGuard(std::byte* data, std::size_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  // Whole pages, as they are mapped.
  slot_ = take_slot(begin, round_up(begin + bytes, page_bytes));
}

MappingGuard::~MappingGuard() { slot_->end.store(0, std::memory_order_release); }

bool MappingGuard::was_hit() const { return slot_->hit.load(std::memory_order_acquire); }

}  // namespace foretoken
