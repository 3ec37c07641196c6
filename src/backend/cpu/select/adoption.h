#pragma once
// Adoption: puts faster kernels into a table, each if it reproduces the one in its place on this
// processor (kernel_check.h). One that does not is named in the log and left out.

#include "backend/cpu/table/kernels.h"

namespace foretoken {

class Adoption {
 public:
  explicit Adoption(const KernelTable& table) : table_(table) {}

  KernelTable& table() { return table_; }

  // Whether a candidate is taken in the place of a kernel.
  bool product(GemmKernels& kernels, const GemmKernels& faster, const char* instruction);
  using Attention = void (*)(const AttnItem&);
  bool attention(Attention& kernel, Attention faster, const char* instruction);
  // Products of codes are exact, and so the same by any instruction that keeps its word.
  bool keeps_its_word(const GemmKernels& faster, int bits, const char* instruction);
  void codes(const GemmKernels& faster, const char* instruction);

 private:
  KernelTable table_;
};

}  // namespace foretoken
