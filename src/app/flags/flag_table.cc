#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "app/flags/flag_table.h"

namespace foretoken {

using enum FlagKind;

namespace {

// The flags of the model that say which files to read.
FlagGroup some_of_model(std::initializer_list<std::string_view> names) {
  FlagGroup model = model_flags();
  std::erase_if(model.flags, [&](const Flag& flag) {
    return std::ranges::find(names, flag.name()) == names.end();
  });
  return model;
}

}  // namespace

FlagTable serve_flags() {
  return {model_flags(),       loading_flags(), compute_flags(),    kernel_flags(),
          parallel_flags(),    expert_flags(),  scheduling_flags(), cache_flags(),
          http_flags(),        serving_flags(), logging_flags(),    observe_flags(),
          speculative_flags(), feature_flags(), multimodal_flags()};
}

FlagTable generate_flags() {
  const FlagGroup prompt = {
      "Prompt",
      {
          {.names = {"--prompt"}, .text = "text to continue, or the message with --chat"},
          {.names = {"--chat"}, .kind = kSwitch, .text = "wrap the prompt in the chat template"},
          {.names = {"--max-new-tokens"},
           .kind = kInteger,
           .text = "length of the answer",
           .default_value = "128"},
          {.names = {"--temperature"}, .kind = kNumber, .text = "0: greedy", .default_value = "0"},
      }};
  return {prompt,         model_flags(),    loading_flags(),    compute_flags(),
          kernel_flags(), parallel_flags(), expert_flags(),     scheduling_flags(),
          cache_flags(),  logging_flags(),  speculative_flags()};
}

FlagTable tune_flags() {
  return {tune_own_flags(), model_flags(),    loading_flags(),    compute_flags(),
          kernel_flags(),   parallel_flags(), expert_flags(),     scheduling_flags(),
          cache_flags(),    logging_flags(),  speculative_flags()};
}

FlagTable tokenize_flags() {
  return {some_of_model({"--model-path", "--tokenizer-path", "--chat-template", "--revision",
                         "--trust-remote-code"})};
}

FlagTable inspect_flags() {
  const FlagGroup report = {
      "Report", {{.names = {"--json"}, .kind = kSwitch, .text = "print JSON instead of text"}}};
  return {report, some_of_model({"--model-path", "--tokenizer-path", "--chat-template",
                                 "--revision", "--trust-remote-code"})};
}

}  // namespace foretoken
