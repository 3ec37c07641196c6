#include "backend/cpu/select/kernel_check.h"

#include <gtest/gtest.h>

#include "backend/cpu/table/isa.h"
#include "backend/cpu/testing/amx_model.h"

namespace foretoken {
namespace {

TEST(KernelCheck, accepts_kernels_of_one_order) {
  const KernelTable scalar = scalar_kernels(), model = amx_model_kernels();
  EXPECT_TRUE(reproduces(model.bf16_tile, scalar.bf16_tile));
  if (has_isa(detect_cpu(), Isa::kAvx2)) {
    EXPECT_TRUE(reproduces(avx2_kernels().bf16_tile, scalar.bf16_tile));
    EXPECT_TRUE(reproduces(avx2_kernels().bf16_pair, scalar.bf16_pair));
  }
}

TEST(KernelCheck, refuses_another_order_of_addition) {
  const KernelTable scalar = scalar_kernels();
  EXPECT_FALSE(reproduces(scalar.bf16_tile, scalar.bf16_pair));
}

TEST(KernelCheck, accepts_attention_of_one_order_and_refuses_the_other) {
  const OpKernels scalar = scalar_kernels().ops, model = amx_model_kernels().ops;
  EXPECT_TRUE(reproduces_attention(model.attention[0], scalar.attention[0]));
  EXPECT_FALSE(reproduces_attention(scalar.attention_pair, scalar.attention[0]));
  if (has_isa(detect_cpu(), Isa::kAvx512)) {
    EXPECT_TRUE(reproduces_attention(avx512_kernels().ops.attention_pair, scalar.attention_pair));
  }
}

TEST(KernelCheck, refuses_a_kernel_that_keeps_denormals) {
  // Same order, but MXCSR as programs start with it.
  GemmKernels kernels = scalar_kernels().bf16_pair;
  static auto run = kernels.run;
  kernels.run = [](const GemmCall& call) {
    const unsigned saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    run(call);
    __builtin_ia32_ldmxcsr(saved);
  };
  EXPECT_FALSE(reproduces(kernels, scalar_kernels().bf16_pair));
}

TEST(KernelCheck, accepts_products_of_codes_and_refuses_other_sums) {
  const KernelTable scalar = scalar_kernels();
  const CpuFeatures cpu = detect_cpu();
  EXPECT_TRUE(reproduces_codes(avx2_kernels().codes, scalar.codes));
  if (cpu.avx512) {
    EXPECT_TRUE(reproduces_codes(avx512_kernels().codes, scalar.codes));
  }
  if (cpu.avx512_vnni) {
    EXPECT_TRUE(reproduces_codes(avx512_vnni_codes_gemm(), scalar.codes));
  }
  if (cpu.avx_vnni) {
    EXPECT_TRUE(reproduces_codes(avx_vnni_codes_gemm(), scalar.codes));
  }
  EXPECT_TRUE(reproduces_codes(amx_model_kernels().codes_row8, scalar.codes, 8));
  EXPECT_TRUE(reproduces_codes(amx_model_kernels().codes_groups4, scalar.codes, 4));
  GemmKernels saturates = scalar.codes;  // as sums of 16 bits would
  static auto run = saturates.run;
  saturates.run = [](const GemmCall& call) {
    run(call);
    call.y[3] *= 1.5F;
  };
  EXPECT_FALSE(reproduces_codes(saturates, scalar.codes));
}

}  // namespace
}  // namespace foretoken
