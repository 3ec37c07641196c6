#include "app/flags/flag_rows.h"

namespace foretoken {

using enum FlagKind;

namespace {

constexpr std::string_view kPlainHttp = "not supported yet: the server speaks plain HTTP/1.1";
constexpr std::string_view kNoGrpc = "not supported yet: the server speaks HTTP";
constexpr std::string_view kOwnThreads = "texts are encoded and decoded by threads of this process";
constexpr std::string_view kNoWarmups = "not supported: the program warms up in its own way";
constexpr std::string_view kNoPrefix = "not supported yet: routes stand at the root";
constexpr std::string_view kNoTemplateNames =
    "not supported yet: the first template of the tokenizer is used; see --chat-template";
constexpr std::string_view kNoTemplateDefaults =
    "not supported yet: requests carry their own chat_template_kwargs";
constexpr std::string_view kNoReasoning =
    "not supported yet: what was thought is cached with the rest of a text";
constexpr std::string_view kKeptBudgets = "budgets of thinking tokens are always kept";
constexpr std::string_view kNoTools = "not supported yet: tools are called by the client";
constexpr std::string_view kNoAudio = "there is no audio interface";
constexpr std::string_view kEveryEvent = "every event is sent at once";
constexpr std::string_view kOnePass = "texts are encoded one by one, several at once";

}  // namespace

FlagGroup serving_flags() {
  return {"Serving",
          {
              idle({"--tokenizer-worker-num"}, kInteger, kOwnThreads, "1"),
              idle({"--detokenizer-worker-num"}, kInteger, kOwnThreads, "1"),
              idle({"--batch-notify-size"}, kInteger, kEveryEvent, "16"),
              idle({"--enable-dynamic-batch-tokenizer"}, kSwitch, kOnePass),
              idle({"--dynamic-batch-tokenizer-batch-size"}, kInteger, kOnePass, "32"),
              idle({"--dynamic-batch-tokenizer-batch-timeout"}, kNumber, kOnePass, "0.002"),
              idle({"--enable-tokenizer-batch-encode"}, kSwitch, kOnePass),
              idle({"--disable-tokenizer-batch-decode"}, kSwitch, kOnePass),
              idle({"--asr-max-buffer-seconds"}, kInteger, kNoAudio, "60"),
              idle({"--asr-max-concurrent-sessions"}, kInteger, kNoAudio, "32"),
              refused({"--fastapi-root-path"}, kText, kNoPrefix),
              refused({"--smg-grpc-mode", "--grpc-mode"}, kSwitch, kNoGrpc),
              refused({"--grpc-port"}, kInteger, kNoGrpc),
              refused({"--sidecar"}, kText, kNoGrpc),
              refused({"--sidecar-args"}, kText, kNoGrpc),
              refused({"--warmups"}, kText, kNoWarmups),
              refused({"--enable-http2"}, kSwitch, kPlainHttp),
              refused({"--http2-max-concurrent-streams"}, kInteger, kPlainHttp, "200"),
              refused({"--enable-ssl-refresh"}, kSwitch, kPlainHttp),
              refused({"--hf-chat-template-name"}, kText, kNoTemplateNames),
              refused({"--default-chat-template-kwargs"}, kText, kNoTemplateDefaults),
              refused({"--strip-thinking-cache"}, kSwitch, kNoReasoning),
              idle({"--enable-strict-thinking"}, kSwitch, kKeptBudgets),
              refused({"--tool-server"}, kText, kNoTools),
          }};
}

}  // namespace foretoken
