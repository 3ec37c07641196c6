#pragma once
// Arithmetic of indices and sizes that every folder needs, each in this one place. All of it is
// inlined always, so that no copy is ever emitted and translation units of kernels, which are
// compiled for one instruction set, may use it too (see backend/cpu/table/kernels.h).

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/types.h"

namespace foretoken {

// A count or an index, never negative, as standard containers take it.
[[gnu::always_inline]] constexpr std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// How many units cover n, and what they hold together; n >= 0, unit > 0.
template <typename T>
[[gnu::always_inline]] constexpr T ceil_div(T n, std::type_identity_t<T> unit) {
  return (n + unit - 1) / unit;
}
template <typename T>
[[gnu::always_inline]] constexpr T round_up(T n, std::type_identity_t<T> unit) {
  return ceil_div(n, unit) * unit;
}

// KV pages that hold so many tokens.
[[gnu::always_inline]] constexpr int pages_for(int tokens) { return ceil_div(tokens, kPageTokens); }

}  // namespace foretoken
