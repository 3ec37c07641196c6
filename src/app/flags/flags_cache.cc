#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;

namespace {

constexpr std::string_view kMemoryOnly = "not supported yet: the KV cache lives in memory only";
constexpr std::string_view kNoState =
    "not supported yet: states of layers are float32, --max-mamba-cache-size says how many";
constexpr std::string_view kOneLayout = "pages have the one layout that the kernels want";
constexpr std::string_view kNoDelay = "not supported yet: prompts are admitted as soon as they fit";
constexpr std::string_view kEveryStep = "every step is scheduled";
constexpr std::string_view kSessions = "sessions are always served";
constexpr std::string_view kNoEmbeddings = "not supported yet: embedding models";

}  // namespace

FlagGroup cache_flags() {
  return {"Caches and queues",
          {
              refused({"--hicache-host-memory-mode"}, kText, kMemoryOnly, "cache"),
              refused({"--hicache-ratio"}, kNumber, kMemoryOnly),
              refused({"--hicache-size"}, kInteger, kMemoryOnly, "0"),
              refused({"--hicache-write-policy"}, kText, kMemoryOnly, "write_through"),
              refused({"--hicache-io-backend"}, kText, kMemoryOnly, "kernel"),
              refused({"--hicache-mem-layout"}, kText, kMemoryOnly, "page_first"),
              refused({"--hicache-storage-backend"}, kText, kMemoryOnly),
              refused({"--hicache-storage-prefetch-policy"}, kText, kMemoryOnly, "timeout"),
              refused({"--hicache-storage-backend-extra-config"}, kText, kMemoryOnly),
              refused({"--enable-lmcache"}, kSwitch, kMemoryOnly),
              refused({"--lmcache-config-file"}, kText, kMemoryOnly),
              refused({"--enable-flexkv"}, kSwitch, kMemoryOnly),
              refused({"--flexkv-config-file"}, kText, kMemoryOnly),
              refused({"--radix-cache-backend"}, kText, kMemoryOnly),
              idle({"--enable-session-radix-cache"}, kSwitch, kSessions),
              idle({"--enable-streaming-session"}, kSwitch, kSessions),
              refused({"--prefill-only-disable-kv-cache"}, kSwitch, kNoEmbeddings),
              idle({"--enable-page-major-kv-layout"}, kSwitch, kOneLayout),
              idle({"--enable-unified-memory"}, kSwitch, kOneLayout),
              idle({"--c128-page-size"}, kInteger, kOneLayout, "16"),
              idle({"--disable-hybrid-swa-memory"}, kSwitch, kOneLayout),
              idle({"--hybrid-kvcache-ratio"}, kNumber, kOneLayout),
              refused({"--mamba-ssm-dtype"}, kText, kNoState),
              refused({"--mamba-max-states-per-path"}, kInteger, kNoState, "-1"),
              refused({"--enable-mamba-cache-stochastic-rounding"}, kSwitch, kNoState),
              refused({"--mamba-cache-philox-rounds"}, kInteger, kNoState, "0"),
              refused({"--mamba-full-memory-ratio"}, kNumber, kNoState, "0.9"),
              refused({"--mamba-radix-cache-strategy", "--mamba-scheduler-strategy"}, kText,
                      kNoState, "auto"),
              refused({"--mamba-track-interval"}, kInteger, kNoState, "256"),
              refused({"--enable-int8-mamba-checkpoint"}, kSwitch, kNoState),
              refused({"--int8-mamba-ckpt-size"}, kInteger, kNoState),
              refused({"--enable-linear-replayssm"}, kSwitch, kNoState),
              refused({"--linear-replayssm-cache-len"}, kInteger, kNoState, "16"),
              refused({"--enable-linear-replayssm-spec", "--enable-gdn-replayssm-spec"}, kSwitch,
                      kNoState),
              refused({"--prefill-decode-interval"}, kInteger, kNoDelay, "0"),
              refused({"--enable-prefill-delayer"}, kSwitch, kNoDelay),
              refused({"--prefill-delayer-max-delay-passes"}, kInteger, kNoDelay, "30"),
              refused({"--prefill-delayer-token-usage-low-watermark"}, kNumber, kNoDelay),
              refused({"--prefill-delayer-forward-passes-buckets"}, kTextList, kNoDelay),
              refused({"--prefill-delayer-wait-seconds-buckets"}, kTextList, kNoDelay),
              refused({"--prefill-delayer-queue-min-ratio"}, kNumber, kNoDelay),
              refused({"--prefill-delayer-max-delay-ms"}, kNumber, kNoDelay),
              refused({"--min-free-slots-delay"}, kInteger, kNoDelay),
              idle({"--enable-dynamic-chunking"}, kSwitch, kEveryStep),
              idle({"--scheduler-recv-interval"}, kInteger, kEveryStep, "1"),
          }};
}

}  // namespace foretoken
