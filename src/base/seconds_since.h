#pragma once
// How long ago something began, on the clock that never jumps. Thread-safe.

#include <chrono>

namespace foretoken {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace foretoken
