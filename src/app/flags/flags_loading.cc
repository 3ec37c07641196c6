#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;

namespace {

constexpr std::string_view kOneReader = "weights are mapped from local files";
constexpr std::string_view kNotCustom =
    "not supported: weights are read by this program's own code";
constexpr std::string_view kNoRemote = "not supported yet: weights come from local files";
constexpr std::string_view kNoQuantization = "not supported yet: quantized weights";
constexpr std::string_view kNoUpdate = "not supported yet: weights are loaded once, at the start";
constexpr std::string_view kNoChecks =
    "not supported yet: checkpoints are not compared with checksums";
constexpr std::string_view kNoEncryption = "not supported yet: encrypted checkpoints";
constexpr std::string_view kNeverDeleted = "not supported: this program deletes no checkpoint";
constexpr std::string_view kOneTokenizer = "there is one tokenizer implementation";
constexpr std::string_view kOneParser = "config.json is read by this program's own code";
constexpr std::string_view kNoGpuMath = "there is no GPU whose arithmetic could be set";

}  // namespace

FlagGroup loading_flags() {
  return {
      "Loading",
      {
          idle({"--tokenizer-backend"}, kText, kOneTokenizer, "huggingface"),
          idle({"--model-config-parser"}, kText, kOneParser, "auto"),
          refused({"--model-loader-extra-config"}, kText, kNotCustom, "{}"),
          refused({"--custom-weight-loader"}, kTextList, kNotCustom),
          refused({"--model-checksum"}, kText, kNoChecks),
          refused({"--delete-ckpt-after-loading"}, kSwitch, kNeverDeleted),
          refused({"--decrypted-config-file"}, kText, kNoEncryption),
          refused({"--decrypted-draft-config-file"}, kText, kNoEncryption),
          idle({"--weight-loader-disable-mmap"}, kSwitch, kOneReader),
          idle({"--weight-loader-prefetch-checkpoints"}, kSwitch, kOneReader),
          idle({"--weight-loader-prefetch-num-threads"}, kInteger, kOneReader, "4"),
          idle({"--weight-loader-drop-cache-after-load"}, kSwitch, kOneReader),
          idle({"--startup-weight-load-mode"}, kText, kOneReader, "serial"),
          refused({"--remote-instance-weight-loader-seed-instance-ip"}, kText, kNoRemote),
          refused({"--remote-instance-weight-loader-seed-instance-service-port"}, kInteger,
                  kNoRemote),
          refused({"--remote-instance-weight-loader-send-weights-group-ports"}, kText, kNoRemote),
          refused({"--remote-instance-weight-loader-backend"}, kText, kNoRemote, "nccl"),
          refused({"--remote-instance-weight-loader-support-transfer-engine"}, kSwitch, kNoRemote),
          refused({"--remote-instance-weight-loader-start-seed-via-transfer-engine"}, kSwitch,
                  kNoRemote),
          refused({"--engine-info-bootstrap-port"}, kInteger, kNoRemote, "6789"),
          refused({"--modelexpress-config"}, kText, kNoRemote),
          refused({"--checkpoint-engine-wait-weights-before-ready"}, kSwitch, kNoUpdate),
          refused({"--weight-cache-mode"}, kText, kNoRemote, "off"),
          refused({"--weight-cache-socket"}, kText, kNoRemote),
          refused({"--weight-cache-timeout"}, kInteger, kNoRemote, "1800"),
          refused({"--quantization-param-path"}, kText, kNoQuantization),
          refused({"--modelopt-quant"}, kText, kNoQuantization),
          refused({"--modelopt-checkpoint-restore-path"}, kText, kNoQuantization),
          refused({"--modelopt-checkpoint-save-path"}, kText, kNoQuantization),
          refused({"--modelopt-export-path"}, kText, kNoQuantization),
          refused({"--quantize-and-serve"}, kSwitch, kNoQuantization),
          refused({"--rl-quant-profile"}, kText, kNoQuantization),
          refused({"--torchao-config"}, kText, kNoQuantization),
          idle({"--enable-tf32-matmul"}, kSwitch, kNoGpuMath),
      }};
}

}  // namespace foretoken
