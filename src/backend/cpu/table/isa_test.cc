#include "backend/cpu/table/isa.h"

#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr CpuFeatures kHaswell{.avx2 = true};
constexpr CpuFeatures kSkylake{.avx2 = true, .avx512 = true};
constexpr CpuFeatures kZen4{.avx2 = true, .avx512 = true, .avx512_bf16 = true};
constexpr CpuFeatures kSapphire{.avx2 = true, .avx512 = true, .avx512_bf16 = true, .amx = true};

// A program for every processor.
const std::vector<std::string_view> kEvery{"scalar", "avx2", "avx512", "avx512_bf16", "amx"};

std::string refusal(const std::string& name, const CpuFeatures& cpu,
                    const std::vector<std::string_view>& compiled = kEvery) {
  try {
    select_isa(name, cpu, compiled);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SelectIsa, auto_takes_the_best_that_the_machine_has) {
  EXPECT_EQ(select_isa("auto", kHaswell, kEvery), Isa::kAvx2);
  EXPECT_EQ(select_isa("auto", kSkylake, kEvery), Isa::kAvx512);
  EXPECT_EQ(select_isa("auto", kZen4, kEvery), Isa::kAvx512Bf16);
  EXPECT_EQ(select_isa("auto", kSapphire, kEvery), Isa::kAmx);
}

TEST(SelectIsa, a_lower_one_can_be_forced) {
  EXPECT_EQ(select_isa("scalar", kSapphire, kEvery), Isa::kScalar);
  EXPECT_EQ(select_isa("avx2", kSapphire, kEvery), Isa::kAvx2);
  EXPECT_EQ(select_isa("avx512", kZen4, kEvery), Isa::kAvx512);
}

TEST(SelectIsa, one_that_the_machine_lacks_is_refused_with_what_it_has) {
  EXPECT_EQ(refusal("amx", kZen4),
            "this machine lacks the instruction set amx (--cpu-isa): expected auto or one of "
            "scalar, avx2, avx512, avx512_bf16, found amx");
  EXPECT_NE(refusal("avx512", kHaswell), "");
}

TEST(SelectIsa, one_that_the_program_was_built_without_is_refused_with_the_option) {
  const std::vector<std::string_view> native{"avx512", "avx512_bf16", "avx512_vnni"};
  EXPECT_EQ(select_isa("auto", kZen4, native), Isa::kAvx512Bf16);
  EXPECT_EQ(select_isa("auto", kSapphire, native), Isa::kAvx512Bf16);
  EXPECT_EQ(select_isa("avx512", kZen4, native), Isa::kAvx512);
  EXPECT_EQ(refusal("avx2", kZen4, native),
            "this program was built without the instruction set avx2 (FORETOKEN_ISAS=native) "
            "(--cpu-isa): expected auto or avx512 or avx512_bf16, or a build with "
            "FORETOKEN_ISAS=all, found avx2");
  EXPECT_NE(refusal("amx", kZen4, native).find("this machine lacks"), std::string::npos);
  for (const char* name : {"auto", "avx2"})
    EXPECT_NE(refusal(name, kHaswell, native).find("built for other processors"), std::string::npos)
        << name;
}

TEST(SelectIsa, the_suites_have_every_table_of_the_family) {
  for (const Isa isa : kAllIsas)
    EXPECT_EQ(is_compiled(isa_name(isa), compiled_tables()), is_of_family(isa)) << isa_name(isa);
}

TEST(SelectIsa, unknown_names_are_refused) {
  EXPECT_NE(refusal("sse2", kSapphire).find("unknown instruction set"), std::string::npos);
  EXPECT_NE(refusal("", kSapphire), "");
}

TEST(SelectIsa, a_machine_without_avx2_is_refused_whatever_is_asked_for) {
  for (const char* name : {"auto", "scalar", "avx2"})
    EXPECT_NE(refusal(name, CpuFeatures{}).find("AVX2"), std::string::npos) << name;
}

TEST(SelectGemmOrder, auto_follows_the_machine) {
  EXPECT_EQ(select_gemm_order("auto", kHaswell), GemmOrder::kTile);
  EXPECT_EQ(select_gemm_order("auto", kSkylake), GemmOrder::kTile);
  EXPECT_EQ(select_gemm_order("auto", kZen4), GemmOrder::kPair);
  EXPECT_EQ(select_gemm_order("auto", kSapphire), GemmOrder::kTile);
}

TEST(SelectGemmOrder, both_can_be_named_anywhere_and_nothing_else) {
  EXPECT_EQ(select_gemm_order("pair", kHaswell), GemmOrder::kPair);
  EXPECT_EQ(select_gemm_order("tile", kZen4), GemmOrder::kTile);
  EXPECT_THROW(select_gemm_order("any", kZen4), Error);
}

TEST(DetectCpu, each_instruction_set_implies_the_lower_ones) {
  const CpuFeatures cpu = detect_cpu();
  EXPECT_TRUE(!cpu.amx || cpu.avx512_bf16);
  EXPECT_TRUE(!cpu.avx512_bf16 || cpu.avx512);
  EXPECT_TRUE(!cpu.avx512 || cpu.avx2);
  EXPECT_TRUE(has_isa(cpu, select_isa("auto", cpu)));
}

#if defined(__x86_64__)
TEST(DetectCpu, finds_what_linux_finds) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) continue;
  if (!file) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has = [padded = line + ' '](const char* flag) {
    return padded.find(fmt::format(" {} ", flag)) != std::string::npos;
  };
  const CpuFeatures cpu = detect_cpu();
  EXPECT_EQ(cpu.avx2, has("avx2") && has("fma") && has("f16c"));
  EXPECT_EQ(cpu.avx512, has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl"));
  EXPECT_EQ(cpu.avx512_vnni, cpu.avx512 && has("avx512_vnni"));
  EXPECT_EQ(cpu.avx512_bf16, cpu.avx512 && has("avx512_bf16"));
  EXPECT_EQ(cpu.avx_vnni, cpu.avx2 && has("avx_vnni"));
  // The system may refuse tile registers to a process.
  EXPECT_TRUE(!cpu.amx || (has("amx_tile") && has("amx_bf16") && has("amx_int8")));
}
#endif

}  // namespace
}  // namespace foretoken
