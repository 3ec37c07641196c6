#include "app/flag.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

constexpr std::string_view kOneDevice = "not supported yet: the model runs on one device";
constexpr std::string_view kNoGraphs = "there are no CUDA graphs on a CPU";
constexpr std::string_view kNoCompiler = "the kernels are compiled ahead of time";
constexpr std::string_view kOwnKernels = "the program chooses its own kernels at start";
constexpr std::string_view kNoGpu = "there is no GPU to address";

std::vector<Flag> own_flags() {
  return {
      {.names = {"--device"},
       .text = "cpu, or reference: naive loops in float, for comparison",
       .default_value = "auto",
       .choices = {"auto", "cpu", "reference"},
       .refused_choices = {"cuda", "xpu", "hpu", "npu", "musa"},
       .refused_reason = "not supported yet: this build has CPU backends only"},
      {.names = {"--threads"},
       .kind = kInteger,
       .text = "compute threads, the engine's own included",
       .default_note = "usable cores"},
      {.names = {"--cpu-isa"},
       .text = "instruction set of the kernels; one that the machine lacks is an error",
       .default_value = "auto",
       .choices = {"auto", "amx", "avx512_bf16", "avx512", "avx2", "scalar"}},
      {.names = {"--gemm-order"},
       .text = "order of addition in bf16 matrix products; name one for equal bits on all machines",
       .default_value = "auto",
       .choices = {"auto", "tile", "pair"}},
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
      {.names = {"--enable-torch-compile"},
       .kind = kSwitch,
       .support = kNoEffect,
       .text = kNoCompiler},
      {.names = {"--torch-compile-max-bs"},
       .kind = kInteger,
       .support = kNoEffect,
       .text = kNoCompiler,
       .default_value = "32"},
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

std::vector<Flag> parallel_flags() {
  return {
      {.names = {"--tp-size", "--tp", "--tensor-parallel-size"},
       .kind = kInteger,
       .support = kRefused,
       .text = kOneDevice,
       .default_value = "1",
       .choices = {"1"}},
      {.names = {"--dp-size", "--dp", "--data-parallel-size"},
       .kind = kInteger,
       .support = kRefused,
       .text = kOneDevice,
       .default_value = "1",
       .choices = {"1"}},
      {.names = {"--pp-size", "--pp", "--pipeline-parallel-size"},
       .kind = kInteger,
       .support = kRefused,
       .text = kOneDevice,
       .default_value = "1",
       .choices = {"1"}},
      {.names = {"--ep-size", "--ep", "--expert-parallel-size"},
       .kind = kInteger,
       .support = kRefused,
       .text = kOneDevice,
       .default_value = "1",
       .choices = {"1"}},
      {.names = {"--nnodes"},
       .kind = kInteger,
       .support = kRefused,
       .text = kOneDevice,
       .default_value = "1",
       .choices = {"1"}},
      {.names = {"--node-rank"},
       .kind = kInteger,
       .support = kRefused,
       .text = kOneDevice,
       .default_value = "0",
       .choices = {"0"}},
      {.names = {"--dist-init-addr"}, .support = kRefused, .text = kOneDevice},
      {.names = {"--enable-dp-attention"},
       .kind = kSwitch,
       .support = kRefused,
       .text = kOneDevice},
      {.names = {"--enable-dp-lm-head"}, .kind = kSwitch, .support = kRefused, .text = kOneDevice},
      {.names = {"--enable-two-batch-overlap"},
       .kind = kSwitch,
       .support = kRefused,
       .text = kOneDevice},
      {.names = {"--enable-single-batch-overlap"},
       .kind = kSwitch,
       .support = kRefused,
       .text = kOneDevice},
      {.names = {"--base-gpu-id"},
       .kind = kInteger,
       .support = kNoEffect,
       .text = kNoGpu,
       .default_value = "0"},
      {.names = {"--nccl-port"}, .kind = kInteger, .support = kNoEffect, .text = kNoGpu},
      {.names = {"--disable-custom-all-reduce"},
       .kind = kSwitch,
       .support = kNoEffect,
       .text = kNoGpu},
      {.names = {"--enable-p2p-check"}, .kind = kSwitch, .support = kNoEffect, .text = kNoGpu},
  };
}

}  // namespace

FlagGroup compute_flags() {
  FlagGroup group{"Compute", own_flags()};
  for (const auto& part : {graph_flags(), parallel_flags()})
    group.flags.insert(group.flags.end(), part.begin(), part.end());
  return group;
}

}  // namespace foretoken
