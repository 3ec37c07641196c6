#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;

namespace {

constexpr std::string_view kOneDevice = "not supported yet: the model runs on one device";
constexpr std::string_view kNoGpu = "there is no GPU to address";
constexpr std::string_view kNoCollectives = "one device exchanges nothing";
constexpr std::string_view kNoExperts = "not supported: all experts lie in one process";
constexpr std::string_view kOneProcess = "everything runs in one process";

}  // namespace

FlagGroup parallel_flags() {
  return {
      "Parallelism",
      {
          refused({"--tp-size", "--tp", "--tensor-parallel-size"}, kInteger, kOneDevice, "1"),
          refused({"--dp-size", "--dp", "--data-parallel-size"}, kInteger, kOneDevice, "1"),
          refused({"--pp-size", "--pp", "--pipeline-parallel-size"}, kInteger, kOneDevice, "1"),
          refused({"--ep-size", "--ep", "--expert-parallel-size"}, kInteger, kOneDevice, "1"),
          refused({"--dcp-size", "--decode-context-parallel-size"}, kInteger, kOneDevice, "1"),
          refused({"--attn-cp-size", "--attention-context-parallel-size"}, kInteger, kOneDevice,
                  "1"),
          refused({"--moe-dp-size", "--moe-data-parallel-size"}, kInteger, kOneDevice, "1"),
          refused({"--dwdp-size"}, kInteger, kOneDevice, "1"),
          refused({"--moe-dense-tp-size"}, kInteger, kOneDevice, "1"),
          refused({"--nnodes"}, kInteger, kOneDevice, "1"),
          refused({"--node-rank"}, kInteger, kOneDevice, "0"),
          refused({"--dist-init-addr", "--nccl-init-addr"}, kText, kOneDevice),
          refused({"--gated-launch-port"}, kInteger, kOneDevice),
          refused({"--enable-dp-attention"}, kSwitch, kOneDevice),
          refused({"--enable-dp-lm-head"}, kSwitch, kOneDevice),
          refused({"--enable-prefill-cp"}, kSwitch, kOneDevice),
          refused({"--enable-prefill-context-parallel"}, kSwitch, kOneDevice),
          refused(
              {"--enable-dsa-prefill-context-parallel", "--enable-nsa-prefill-context-parallel"},
              kSwitch, kOneDevice),
          refused({"--enable-two-batch-overlap"}, kSwitch, kOneDevice),
          refused({"--enable-single-batch-overlap"}, kSwitch, kOneDevice),
          refused({"--use-ray"}, kSwitch, kOneDevice),
          idle({"--pp-max-micro-batch-size", "--max-micro-batch-size"}, kInteger, kNoCollectives),
          idle({"--pp-async-batch-depth"}, kInteger, kNoCollectives, "0"),
          idle({"--load-balance-method"}, kText, kNoCollectives, "auto"),
          idle({"--load-watch-interval"}, kNumber, kNoCollectives, "0.1"),
          idle({"--prefill-round-robin-balance"}, kSwitch, kNoCollectives),
          idle({"--dcp-comm-backend"}, kText, kNoCollectives, "ag_rs"),
          idle({"--dcp-replicate-q-proj"}, kSwitch, kNoCollectives),
          idle({"--no-dcp-replicate-q-proj"}, kSwitch, kNoCollectives),
          idle({"--cp-strategy"}, kText, kNoCollectives),
          idle({"--prefill-cp-mode"}, kText, kNoCollectives, "in-seq-split"),
          idle({"--dsa-prefill-cp-mode", "--nsa-prefill-cp-mode"}, kText, kNoCollectives,
               "round-robin-split"),
          idle({"--enable-dsa-cache-layer-split"}, kSwitch, kNoCollectives),
          idle({"--enable-cp-decode-attn-tp"}, kSwitch, kNoCollectives),
          idle({"--enable-dp-attention-local-control-broadcast"}, kSwitch, kNoCollectives),
          idle({"--enable-tp-lm-head-all-to-all"}, kSwitch, kNoCollectives),
          idle({"--no-enable-tp-lm-head-all-to-all"}, kSwitch, kNoCollectives),
          idle({"--enable-attn-tp-input-scattered"}, kSwitch, kNoCollectives),
          idle({"--enable-shared-experts-attn-tp"}, kSwitch, kNoCollectives),
          idle({"--enable-dense-mlp-attn-tp"}, kSwitch, kNoCollectives),
          idle({"--disable-attn-tp-gather"}, kSwitch, kNoCollectives),
          idle({"--tbo-token-distribution-threshold"}, kNumber, kNoCollectives, "0.48"),
          idle({"--nccl-port"}, kInteger, kNoGpu),
          idle({"--dist-timeout"}, kInteger, kNoCollectives),
          idle({"--base-gpu-id"}, kInteger, kNoGpu, "0"),
          idle({"--gpu-id-step"}, kInteger, kNoGpu, "1"),
          idle({"--disable-custom-all-reduce"}, kSwitch, kNoGpu),
          idle({"--enable-p2p-check"}, kSwitch, kNoGpu),
          idle({"--enable-nccl-nvls"}, kSwitch, kNoGpu),
          idle({"--enable-symm-mem"}, kSwitch, kNoGpu),
          idle({"--enable-torch-symm-mem"}, kSwitch, kNoGpu),
          idle({"--enable-mscclpp"}, kSwitch, kNoGpu),
          idle({"--pre-warm-nccl"}, kSwitch, kNoGpu),
          idle({"--enable-scattered-sconv"}, kSwitch, kNoCollectives),
          idle({"--enable-quant-communications"}, kSwitch, kNoCollectives),
          idle({"--enable-flashinfer-allreduce-fusion"}, kSwitch, kNoCollectives),
          idle({"--enforce-disable-flashinfer-allreduce-fusion"}, kSwitch, kNoCollectives),
          idle({"--flashinfer-allreduce-fusion-backend"}, kText, kNoCollectives),
          idle({"--enable-aiter-allreduce-fusion"}, kSwitch, kNoCollectives),
          idle({"--enable-layerwise-nvtx-marker"}, kSwitch, kNoGpu),
          idle({"--mlx-enable-sampling"}, kSwitch, kNoGpu),
          idle({"--sleep-on-idle"}, kSwitch, kOneProcess),
          idle({"--numa-node"}, kIntegerList, kOneProcess),
          idle({"--gc-threshold"}, kIntegerList, kOneProcess),
          idle({"--custom-sigquit-handler"}, kText, kOneProcess),
      }};
}

FlagGroup expert_flags() {
  return {
      "Experts",
      {
          idle({"--moe-a2a-backend"}, kText, kNoCollectives, "none"),
          idle({"--moe-runner-backend"}, kText, kNoCollectives, "auto"),
          idle({"--enable-w4a4-mxfp4-megamoe"}, kSwitch, kNoCollectives),
          idle({"--deepep-v2-mode"}, kText, kNoCollectives, "direct"),
          idle({"--flashinfer-mxfp4-moe-precision"}, kText, kNoCollectives, "default"),
          idle({"--deepep-mode"}, kText, kNoCollectives, "auto"),
          idle({"--fuseep-mode"}, kInteger, kNoCollectives, "2"),
          idle({"--deepep-dispatcher-output-dtype"}, kText, kNoCollectives, "auto"),
          idle({"--deepep-config"}, kText, kNoCollectives),
          idle({"--enable-fused-moe-sum-all-reduce"}, kSwitch, kNoCollectives),
          idle({"--enable-fused-grouped-gemm-combine"}, kSwitch, kNoCollectives),
          idle({"--disable-flashinfer-cutlass-moe-fp4-allgather"}, kSwitch, kNoCollectives),
          idle({"--disable-shared-experts-fusion"}, kSwitch, kNoCollectives),
          idle({"--enforce-shared-experts-fusion"}, kSwitch, kNoCollectives),
          idle({"--n-share-experts-fusion"}, kInteger, kNoCollectives),
          refused({"--ep-num-redundant-experts"}, kInteger, kNoExperts, "0"),
          refused({"--ep-dispatch-algorithm"}, kText, kNoExperts),
          refused({"--init-expert-location"}, kText, kNoExperts, "trivial"),
          refused({"--enable-eplb"}, kSwitch, kNoExperts),
          idle({"--eplb-algorithm"}, kText, kNoCollectives, "auto"),
          idle({"--eplb-rebalance-num-iterations"}, kInteger, kNoCollectives, "1000"),
          idle({"--eplb-rebalance-layers-per-chunk"}, kInteger, kNoCollectives),
          idle({"--eplb-min-rebalancing-utilization-threshold"}, kNumber, kNoCollectives, "1.0"),
          refused({"--expert-distribution-recorder-mode"}, kText, kNoExperts),
          refused({"--expert-distribution-recorder-buffer-size"}, kInteger, kNoExperts),
          refused({"--expert-balancedness-report-mode"}, kText, kNoExperts, "off"),
          refused({"--enable-expert-distribution-metrics"}, kSwitch, kNoExperts),
          refused({"--elastic-ep-backend"}, kText, kNoExperts, "none"),
          refused({"--enable-elastic-expert-backup"}, kSwitch, kNoExperts),
          refused({"--elastic-ep-rejoin"}, kSwitch, kNoExperts),
          refused({"--elastic-ep-join-mode"}, kText, kNoExperts),
          refused({"--elastic-ep-join-rank-offset"}, kInteger, kNoExperts, "0"),
          refused({"--elastic-ep-initial-size"}, kInteger, kNoExperts),
          refused({"--elastic-ep-scale-timeout"}, kNumber, kNoExperts, "600"),
          refused({"--max-ep-size"}, kInteger, kNoExperts),
          refused({"--mooncake-ib-device"}, kText, kNoExperts),
          refused({"--enable-waterfill", "--enable-deepep-waterfill"}, kSwitch, kNoExperts),
          refused({"--enable-ep-moe"}, kSwitch, kNoExperts),
          refused({"--enable-deepep-moe"}, kSwitch, kNoExperts),
          refused({"--enable-flashinfer-cutlass-moe"}, kSwitch, kNoExperts),
          refused({"--enable-flashinfer-cutedsl-moe"}, kSwitch, kNoExperts),
          refused({"--enable-flashinfer-trtllm-moe"}, kSwitch, kNoExperts),
          refused({"--enable-flashinfer-mxfp4-moe"}, kSwitch, kNoExperts),
          refused({"--enable-triton-kernel-moe"}, kSwitch, kNoExperts),
          refused({"--kt-weight-path", "--kt-amx-weight-path"}, kText, kNoExperts),
          refused({"--kt-method", "--kt-amx-method"}, kText, kNoExperts, "AMXINT4"),
          refused({"--kt-cpuinfer"}, kInteger, kNoExperts),
          refused({"--kt-threadpool-count"}, kInteger, kNoExperts, "2"),
          refused({"--kt-num-gpu-experts"}, kInteger, kNoExperts),
          refused({"--kt-max-deferred-experts-per-token"}, kInteger, kNoExperts),
      }};
}

}  // namespace foretoken
