#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;

namespace {

constexpr std::string_view kNoCompiler = "the kernels are compiled ahead of time";
constexpr std::string_view kFused = "operations are joined wherever that is faster";
constexpr std::string_view kNoMla = "latent attention is computed in one form";
constexpr std::string_view kNoOffload = "not supported yet: weights stay in memory";
constexpr std::string_view kNoSparse = "not supported yet: attention looks at every position";

}  // namespace

FlagGroup kernel_flags() {
  return {
      "Kernels",
      {
          idle({"--cuda-graph-config"}, kText, kNoGraphs),
          idle({"--cuda-graph-backend-decode"}, kText, kNoGraphs),
          idle({"--cuda-graph-backend-prefill"}, kText, kNoGraphs),
          idle({"--cuda-graph-max-bs-prefill", "--piecewise-cuda-graph-max-tokens"}, kInteger,
               kNoGraphs),
          idle({"--cuda-graph-bs-prefill", "--piecewise-cuda-graph-tokens"}, kIntegerList,
               kNoGraphs),
          idle({"--cuda-graph-tc-compiler", "--piecewise-cuda-graph-compiler"}, kText, kNoGraphs),
          idle({"--disable-prefill-cuda-graph"}, kSwitch, kNoGraphs),
          idle({"--disable-decode-cuda-graph"}, kSwitch, kNoGraphs),
          idle({"--enable-profile-cuda-graph"}, kSwitch, kNoGraphs),
          idle({"--enable-cudagraph-gc"}, kSwitch, kNoGraphs),
          idle({"--debug-cuda-graph"}, kSwitch, kNoGraphs),
          idle({"--enable-breakable-cuda-graph"}, kSwitch, kNoGraphs),
          idle({"--enable-piecewise-cuda-graph"}, kSwitch, kNoGraphs),
          idle({"--enforce-piecewise-cuda-graph"}, kSwitch, kNoGraphs),
          idle({"--enable-torch-compile-debug-mode"}, kSwitch, kNoCompiler),
          idle({"--mm-attention-backend"}, kText, kOwnKernels),
          idle({"--fp8-gemm-backend"}, kText, kOwnKernels, "auto"),
          idle({"--fp4-gemm-backend"}, kText, kOwnKernels, "auto"),
          idle({"--bf16-gemm-backend"}, kText, kOwnKernels, "auto"),
          idle({"--dsa-prefill-backend", "--nsa-prefill-backend", "--nsa-prefill"}, kText, kNoMla),
          idle({"--dsa-decode-backend", "--nsa-decode-backend", "--nsa-decode"}, kText, kNoMla),
          idle({"--dsv4-prefill-backend"}, kText, kNoMla, "auto"),
          idle({"--dsa-paged-mqa-logits-backend"}, kText, kNoMla, "auto"),
          idle({"--dsa-topk-backend"}, kText, kNoMla, "sgl-kernel"),
          idle({"--enable-deepseek-v4-fp4-indexer"}, kSwitch, kNoMla),
          idle({"--flashinfer-mla-disable-ragged"}, kSwitch, kNoMla),
          idle({"--enable-flashinfer-mla"}, kSwitch, kNoMla),
          idle({"--enable-flashmla"}, kSwitch, kNoMla),
          idle({"--disable-mla"}, kSwitch, kNoMla),
          idle({"--disable-chunked-prefix-cache"}, kSwitch, kNoMla),
          idle({"--disable-flashinfer"}, kSwitch, kOwnKernels),
          idle({"--disable-flashinfer-sampling"}, kSwitch, kOwnKernels),
          idle({"--disable-flashinfer-autotune"}, kSwitch, kOwnKernels),
          idle({"--flashinfer-autotune-skip-ops"}, kTextList, kOwnKernels),
          idle({"--triton-attention-reduce-in-fp32"}, kSwitch, kOwnKernels),
          idle({"--triton-attention-num-kv-splits"}, kInteger, kOwnKernels, "8"),
          idle({"--triton-attention-split-tile-size"}, kInteger, kOwnKernels),
          idle({"--enable-fused-qk-norm-rope"}, kSwitch, kFused),
          idle({"--enable-precise-embedding-interpolation"}, kSwitch, kOwnKernels),
          idle({"--mamba-backend"}, kText, kOwnKernels, "triton"),
          idle({"--linear-attn-backend"}, kText, kOwnKernels, "triton"),
          idle({"--linear-attn-decode-backend"}, kText, kOwnKernels),
          idle({"--linear-attn-prefill-backend"}, kText, kOwnKernels),
          idle({"--linear-attn-verify-backend"}, kText, kOwnKernels),
          refused({"--cpu-offload-gb"}, kInteger, kNoOffload, "0"),
          refused({"--offload-group-size"}, kInteger, kNoOffload, "-1"),
          refused({"--offload-num-in-group"}, kInteger, kNoOffload, "1"),
          refused({"--offload-prefetch-step"}, kInteger, kNoOffload, "1"),
          refused({"--offload-mode"}, kText, kNoOffload, "cpu"),
          refused({"--enable-double-sparsity"}, kSwitch, kNoSparse),
          refused({"--ds-channel-config-path"}, kText, kNoSparse),
          refused({"--ds-heavy-channel-num"}, kInteger, kNoSparse, "32"),
          refused({"--ds-heavy-token-num"}, kInteger, kNoSparse, "256"),
          refused({"--ds-heavy-channel-type"}, kText, kNoSparse, "qk"),
          refused({"--ds-sparse-decode-threshold"}, kInteger, kNoSparse, "4096"),
          refused({"--enable-hisparse"}, kSwitch, kNoSparse),
          refused({"--hisparse-config", "--hierarchical-sparse-attention-extra-config"}, kText,
                  kNoSparse),
      }};
}

}  // namespace foretoken
