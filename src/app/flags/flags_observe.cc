#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;

namespace {

constexpr std::string_view kFixedBuckets = "not supported yet: the buckets are fixed";
constexpr std::string_view kFixedLabels = "not supported yet: the labels are fixed";
constexpr std::string_view kNoTraces = "not supported yet: traces";
constexpr std::string_view kNoExport = "not supported yet: metrics are read from /metrics";
constexpr std::string_view kTextLog = "not supported yet: the log is text on standard error";
constexpr std::string_view kNoDumps = "not supported yet: dumps of tensors";
constexpr std::string_view kNoEvents = "not supported yet: events of the KV cache";
constexpr std::string_view kNoEstimates = "no floating point operations are estimated";
constexpr std::string_view kOneEngine = "there is one engine, which counts always";
constexpr std::string_view kInMetrics =
    "the histograms of lengths and times are part of /metrics always";
constexpr std::string_view kNoCollector = "there is no garbage collector";
constexpr std::string_view kAlwaysChecked = "a logit that is no number is never chosen";
constexpr std::string_view kNoAccessLog = "there is no access log; see --log-requests";
constexpr std::string_view kNoDevice = "there is no device that could hang";
constexpr std::string_view kHooks = "not supported: it would run Python code";

}  // namespace

FlagGroup observe_flags() {
  return {"Observation",
          {
              refused({"--log-requests-format"}, kText, kTextLog, "text"),
              refused({"--log-requests-target"}, kTextList, kTextLog),
              idle({"--uvicorn-access-log-exclude-prefixes"}, kTextList, kNoAccessLog),
              idle({"--smg-http-sidecar-port", "--grpc-http-sidecar-port"}, kInteger, kInMetrics),
              idle({"--enable-mfu-metrics"}, kSwitch, kNoEstimates),
              idle({"--enable-metrics-for-all-schedulers"}, kSwitch, kOneEngine),
              idle({"--load-snapshot-publish-interval"}, kInteger, kOneEngine, "15"),
              idle({"--collect-tokens-histogram"}, kSwitch, kInMetrics),
              idle({"--enable-request-time-stats-logging"}, kSwitch, kInMetrics),
              idle({"--gc-warning-threshold-secs"}, kNumber, kNoCollector, "0.0"),
              refused({"--tokenizer-metrics-custom-labels-header"}, kText, kFixedLabels,
                      "x-custom-labels"),
              refused({"--tokenizer-metrics-allowed-custom-labels"}, kTextList, kFixedLabels),
              refused({"--extra-metric-labels"}, kText, kFixedLabels),
              refused({"--prompt-tokens-buckets"}, kTextList, kFixedBuckets),
              refused({"--generation-tokens-buckets"}, kTextList, kFixedBuckets),
              refused({"--kv-events-config"}, kText, kNoEvents),
              refused({"--enable-forward-pass-metrics"}, kSwitch, kNoExport),
              refused({"--forward-pass-metrics-worker-id"}, kText, kNoExport),
              refused({"--forward-pass-metrics-ipc-name"}, kText, kNoExport),
              refused({"--enable-trace"}, kSwitch, kNoTraces),
              refused({"--trace-modules"}, kText, kNoTraces, "request"),
              refused({"--otlp-traces-endpoint", "--oltp-traces-endpoint"}, kText, kNoTraces,
                      "localhost:4317"),
              refused({"--export-metrics-to-file"}, kSwitch, kNoExport),
              refused({"--export-metrics-to-file-dir"}, kText, kNoExport),
              idle({"--soft-watchdog-timeout"}, kNumber, kNoDevice),
              idle({"--enable-nan-detection"}, kSwitch, kAlwaysChecked),
              idle({"--disable-nan-detection"}, kSwitch, kAlwaysChecked),
              idle({"--crash-on-nan"}, kSwitch, kAlwaysChecked),
              refused({"--kv-canary"}, kText, kNoDumps, "none"),
              refused({"--kv-canary-real-data"}, kText, kNoDumps, "none"),
              refused({"--kv-canary-sweep-interval"}, kInteger, kNoDumps, "0"),
              refused({"--debug-tensor-dump-output-folder"}, kText, kNoDumps),
              refused({"--debug-tensor-dump-layers"}, kIntegerList, kNoDumps),
              refused({"--debug-tensor-dump-input-file"}, kText, kNoDumps),
              refused({"--debug-tensor-dump-inject"}, kText, kNoDumps),
              refused({"--debug-tensor-dump-prefill-only"}, kSwitch, kNoDumps),
              refused({"--forward-hooks"}, kText, kHooks),
              refused({"--msprobe-dump-config"}, kText, kNoDumps),
          }};
}

}  // namespace foretoken
