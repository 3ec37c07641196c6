#include "backend/cpu/select/adoption.h"

#include "backend/cpu/select/kernel_check.h"
#include "base/log.h"

namespace foretoken {

bool Adoption::product(GemmKernels& kernels, const GemmKernels& faster, const char* instruction) {
  const bool is_same = reproduces(faster, kernels);
  if (is_same)
    kernels = faster;
  else
    log_warning("{} adds in another order than documented on this processor and is not used",
                instruction);
  return is_same;
}

bool Adoption::attention(Attention& kernel, Attention faster, const char* instruction) {
  const bool is_same = reproduces_attention(faster, kernel);
  if (is_same)
    kernel = faster;
  else
    log_warning("attention by {} gives other bits than documented and is not used", instruction);
  return is_same;
}

bool Adoption::keeps_its_word(const GemmKernels& faster, int bits, const char* instruction) {
  const bool is_same = reproduces_codes(faster, table_.codes, bits);
  if (!is_same)
    log_warning("{} adds other sums than documented on this processor and is not used",
                instruction);
  return is_same;
}

void Adoption::codes(const GemmKernels& faster, const char* instruction) {
  if (keeps_its_word(faster, 0, instruction)) table_.codes = table_.codes_row8 = faster;
}

}  // namespace foretoken
