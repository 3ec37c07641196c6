#include "base/heap.h"

#include <cstdlib>  // defines __GLIBC__ where it is

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace foretoken {

#if defined(__GLIBC__)

void limit_kept_heap() {
  constexpr int kMappedFrom = 4 << 20, kKeptEnd = 8 << 20;  // bytes
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  mallopt(M_TRIM_THRESHOLD, kKeptEnd);
}

void release_free_heap() { malloc_trim(0); }

#else

void limit_kept_heap() {}
void release_free_heap() {}

#endif

}  // namespace foretoken
