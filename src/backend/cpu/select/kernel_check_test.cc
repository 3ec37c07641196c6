#include "backend/cpu/select/kernel_check.h"

#include <gtest/gtest.h>

#include "backend/cpu/testing/amx_model.h"
#include "backend/cpu/testing/kernel_tables.h"
#include "base/processor.h"

namespace foretoken {
namespace {

TEST(KernelCheck, accepts_kernels_of_one_order) {
  const KernelTable scalar = scalar_kernels(), model = amx_model_kernels();
  EXPECT_TRUE(reproduces(model.bf16_tile, scalar.bf16_tile));
  for (const NamedTable& table : kernel_tables()) {
    if (!table.exists || table.name == "amx_model") continue;
    EXPECT_TRUE(reproduces(table.make().bf16_tile, scalar.bf16_tile)) << table.name;
    EXPECT_TRUE(reproduces(table.make().bf16_pair, scalar.bf16_pair)) << table.name;
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
  for (const NamedTable& table : kernel_tables()) {
    if (!table.exists) continue;
    const OpKernels ops = table.make().ops;
    EXPECT_TRUE(reproduces_attention(ops.attention_pair, scalar.attention_pair)) << table.name;
  }
}

TEST(KernelCheck, refuses_a_kernel_that_keeps_denormals) {
  // Same order, but floats as programs start with them.
  GemmKernels kernels = scalar_kernels().bf16_pair;
  static auto run = kernels.run;
  kernels.run = [](const GemmCall& call) {
    const FloatMode saved = float_mode();
    set_float_mode(saved & ~kFlushesDenormals);
    run(call);
    set_float_mode(saved);
  };
  EXPECT_FALSE(reproduces(kernels, scalar_kernels().bf16_pair));
}

TEST(KernelCheck, accepts_products_of_codes_and_refuses_other_sums) {
  const KernelTable scalar = scalar_kernels();
  for (const NamedTable& table : kernel_tables()) {
    if (!table.exists) continue;
    EXPECT_TRUE(reproduces_codes(table.make().codes, scalar.codes)) << table.name;
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
