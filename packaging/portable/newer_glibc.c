// What GCC 12's libstdc++.a asks of a newer glibc than 2.31, made of what 2.31 has. The portable
// program is linked with it (tools/portable_parts.py).

#include <stdlib.h>
#include <sys/random.h>

// Of glibc 2.32: whether there is one thread only. "No" is always right; it costs atomic counts.
char __libc_single_threaded = 0;

// Of glibc 2.36.
unsigned arc4random(void) {
  unsigned bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) abort();
  return bits;
}
