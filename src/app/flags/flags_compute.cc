#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

std::vector<Flag> own_flags() {
  return {
      {.names = {"--device"},
       .text = "cpu; vulkan: a GPU, also vulkan:N or vulkan:NAME (see foretoken devices); or "
               "reference: naive loops in float, for comparison. auto is cpu",
       .default_value = "auto",
       .choices = {"auto", "cpu", "vulkan", "reference"},
       .choice_prefixes = {"vulkan:"},
       .refused_choices = {"cuda", "xpu", "hpu", "npu", "musa"},
       .refused_reason = "not supported yet: there are the CPU and Vulkan"},
      {.names = {"--threads"},
       .kind = kInteger,
       .text = "compute threads, the engine's own included",
       .default_note = "usable cores"},
      {.names = {"--cpu-isa"},
       .text = "instruction set of the kernels; one that the machine lacks is an error",
       .default_value = "auto",
       .choices = {"auto", "amx", "avx512_bf16", "avx512", "avx2", "neon", "scalar"}},
      {.names = {"--gemm-order"},
       .text =
           "order of addition in matrix products; tile and pair: equal bits on all machines; mma: "
           "by the matrix units of a GPU",
       .default_value = "auto",
       .choices = {"auto", "tile", "pair", "mma"}},
      {.names = {"--autotune"},
       .text = "choose by measurement how matrix products are computed: at every load, or once for "
               "a machine (cached); answers do not change",
       .default_value = "off",
       .choices = {"off", "load", "cached"}},
      {.names = {"--enable-torch-compile"},
       .kind = kSwitch,
       .text = "nothing is compiled here: the same as --autotune cached"},
      {.names = {"--torch-compile-max-bs"},
       .kind = kInteger,
       .text = "rows up to which matrix products are tuned",
       .default_value = "32"},
      {.names = {"--autotune-folder"},
       .text = "where tuned products are kept",
       .default_note = "foretoken in the user's cache folder"},
  };
}

std::vector<Flag> graph_flags() {
  return {
      {.names = {"--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"},
       .kind = kInteger,
       .support = kNoEffect,
       .text = kNoGraphs},
      {.names = {"--cuda-graph-bs", "--cuda-graph-bs-decode"},
       .kind = kIntegerList,
       .support = kNoEffect,
       .text = kNoGraphs},
      {.names = {"--disable-cuda-graph"}, .kind = kSwitch, .support = kNoEffect, .text = kNoGraphs},
      {.names = {"--disable-cuda-graph-padding"},
       .kind = kSwitch,
       .support = kNoEffect,
       .text = kNoGraphs},
      {.names = {"--disable-piecewise-cuda-graph"},
       .kind = kSwitch,
       .support = kNoEffect,
       .text = kNoGraphs},
      {.names = {"--attention-backend"}, .support = kNoEffect, .text = kOwnKernels},
      {.names = {"--prefill-attention-backend"}, .support = kNoEffect, .text = kOwnKernels},
      {.names = {"--decode-attention-backend"}, .support = kNoEffect, .text = kOwnKernels},
      {.names = {"--sampling-backend"}, .support = kNoEffect, .text = kOwnKernels},
      {.names = {"--enable-deterministic-inference"},
       .kind = kSwitch,
       .support = kNoEffect,
       .text = "inference is deterministic always"},
  };
}

}  // namespace

FlagGroup compute_flags() {
  FlagGroup group{"Compute", own_flags()};
  const auto more = graph_flags();
  group.flags.insert(group.flags.end(), more.begin(), more.end());
  return group;
}

}  // namespace foretoken
