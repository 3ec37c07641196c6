#pragma once
// How much of what was freed the C library keeps of the system's memory. Of glibc; elsewhere nothing
// happens.

namespace foretoken {

// Large blocks are mapped on their own, and free ends of the heap go back to the system. By itself
// glibc raises both limits to 32 and 64 MB once large blocks are freed, as loading does. Before any
// thread starts.
void limit_kept_heap();

// Gives all pages that hold nothing back.
void release_free_heap();

}  // namespace foretoken
