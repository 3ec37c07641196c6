#pragma once
// The size of the system's pages of memory, a power of two: 4 KB on x86-64; 4, 16 or 64 KB on
// aarch64. Advice to the system reaches whole pages, so what it drops must be cut to them.

#include <cstddef>

#include <unistd.h>

namespace foretoken {

inline std::size_t system_page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace foretoken
