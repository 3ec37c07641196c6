#include "app/host/memory_plan.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/byte_text.h"
#include "base/index.h"
#include "base/log.h"

namespace foretoken {
namespace {

// Without --mem-fraction-static: half, so that there is room for other programs and a second
// server; more, where half does not hold one request of full length.
constexpr double kDefaultFraction = 0.5, kMostByDefault = 0.75;
// Of what is free now, so that a machine in use is not driven out of memory.
constexpr double kAvailableFraction = 0.9;
// Slot numbers are 32-bit: page * kPageTokens + offset.
constexpr std::size_t kMaxTokens = std::size_t{1} << 30;

std::size_t share(std::size_t bytes, double fraction) {
  return static_cast<std::size_t>(static_cast<double>(bytes) * fraction);
}

// Says which of weights and steps is too much, for they are made smaller in different ways.
[[noreturn]] void throw_no_room(const MemoryNeeds& needs, std::size_t budget,
                                const MachineMemory& memory) {
  const bool weights_fit = budget > needs.weight_bytes + needs.text_bytes + needs.page_bytes;
  const std::string texts =
      needs.text_bytes == 0
          ? ""
          : fmt::format(", {:.2f} for texts that drafts come from", gigabytes(needs.text_bytes));
  throw Error({.what = weights_fit
                           ? "the largest step has no room in memory beside the weights: lower "
                             "--max-running-requests, --chunked-prefill-size or "
                             "--speculative-num-draft-tokens"
                           : "no memory is left for the KV cache",
               .where = "--mem-fraction-static",
               .expected = fmt::format("more than {:.2f} GB ({:.2f} for weights{}, {:.2f} for the "
                                       "largest step, the rest for the KV cache)",
                                       gigabytes(needs.fixed_bytes() + needs.page_bytes),
                                       gigabytes(needs.weight_bytes), texts,
                                       gigabytes(needs.step_bytes + needs.state_bytes)),
               .found = fmt::format("{:.2f} GB of {:.2f} GB", gigabytes(budget),
                                    gigabytes(memory.total_bytes))});
}

}  // namespace

int plan_kv_tokens(const MemoryOptions& options, const MachineMemory& memory,
                   const MemoryNeeds& needs) {
  std::size_t budget = share(memory.total_bytes, options.fraction.value_or(kDefaultFraction));
  if (!options.fraction) {
    const std::size_t one_request =
        needs.fixed_bytes() + at(pages_for(needs.context_tokens)) * needs.page_bytes;
    budget = std::clamp(one_request, budget, share(memory.total_bytes, kMostByDefault));
  }
  const std::size_t free_share = share(memory.available_bytes, kAvailableFraction);
  if (options.fraction && budget > memory.available_bytes)
    log_warning(
        "--mem-fraction-static {} is {:.2f} GB, but only {:.2f} GB are available; using those.",
        *options.fraction, gigabytes(budget), gigabytes(free_share));
  if (!options.fraction || budget > memory.available_bytes) budget = std::min(budget, free_share);

  const std::size_t fixed = needs.fixed_bytes();
  // Where all layers keep states, a page takes nothing.
  const bool is_free = needs.page_bytes == 0;
  const std::size_t pages = budget <= fixed ? 0
                            : is_free       ? kMaxTokens / kPageTokens
                                            : (budget - fixed) / needs.page_bytes;
  if (pages == 0) throw_no_room(needs, budget, memory);
  std::size_t tokens = std::min(pages * kPageTokens, kMaxTokens);
  if (options.max_total_tokens) {
    const auto wanted = static_cast<std::size_t>(*options.max_total_tokens);
    if (wanted > tokens)
      log_warning("--max-total-tokens {} does not fit; the KV cache holds {} tokens.", wanted,
                  tokens);
    if (wanted < kPageTokens)
      throw Error({.what = "--max-total-tokens",
                   .expected = fmt::format("at least one page of {} tokens", kPageTokens),
                   .found = std::to_string(wanted)});
    tokens = std::min(tokens, wanted);
  } else if (!options.fraction || is_free) {
    tokens = std::min(tokens, static_cast<std::size_t>(needs.useful_tokens));
  }
  return static_cast<int>(std::max<std::size_t>(tokens, kPageTokens));
}

}  // namespace foretoken
