#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;

namespace {

constexpr std::string_view kTextOnly = "not supported yet: models take text only";
constexpr std::string_view kNoMedia = "there are no images to process";

}  // namespace

FlagGroup multimodal_flags() {
  return {"Images, video, audio",
          {
              refused({"--enable-llama4-multimodal"}, kSwitch, kTextOnly),
              refused({"--enable-prefix-mm-cache"}, kSwitch, kTextOnly),
              refused({"--mm-enable-dp-encoder"}, kSwitch, kTextOnly),
              refused({"--enable-mm-global-cache"}, kSwitch, kTextOnly),
              refused({"--mm-global-cache-backend"}, kText, kTextOnly, "mooncake"),
              refused({"--encoder-only"}, kSwitch, kTextOnly),
              refused({"--language-only"}, kSwitch, kTextOnly),
              idle({"--language-model-only"}, kSwitch, kNoMedia),
              refused({"--encoder-transfer-backend"}, kText, kTextOnly, "auto"),
              refused({"--encoder-urls"}, kTextList, kTextOnly),
              refused({"--encoder-bootstrap-port"}, kInteger, kTextOnly, "8997"),
              refused({"--encoder-register-urls"}, kTextList, kTextOnly),
              refused({"--enable-adaptive-dispatch-to-encoder"}, kSwitch, kTextOnly),
              idle({"--enable-broadcast-mm-inputs-process"}, kSwitch, kNoMedia),
              idle({"--mm-process-config"}, kText, kNoMedia),
              idle({"--mm-processor-worker-num"}, kInteger, kNoMedia, "0"),
              idle({"--mm-io-worker-num"}, kInteger, kNoMedia, "0"),
              idle({"--mm-max-concurrent-calls"}, kInteger, kNoMedia, "32"),
              idle({"--mm-per-request-timeout"}, kNumber, kNoMedia, "10.0"),
              idle({"--allowed-media-domains"}, kTextList, kNoMedia),
              idle({"--media-url-max-file-size-mb"}, kInteger, kNoMedia, "64"),
              idle({"--mm-preprocess-cache-size-mb"}, kInteger, kNoMedia),
              idle({"--trust-mm-content-hashes"}, kSwitch, kNoMedia),
              idle({"--limit-mm-data-per-request"}, kText, kNoMedia),
              idle({"--image-processor-backend"}, kText, kNoMedia, "auto"),
              idle({"--disable-fast-image-processor"}, kSwitch, kNoMedia),
              idle({"--mm-feature-transport"}, kText, kNoMedia),
              idle({"--keep-mm-feature-on-device"}, kSwitch, kNoMedia),
          }};
}

}  // namespace foretoken
