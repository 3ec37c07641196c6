#include <algorithm>

#include "app/flags/flag_table.h"

namespace foretoken {

using enum FlagKind;

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
  FlagGroup model = model_flags();
  constexpr std::string_view kUsed[] = {"--model-path", "--tokenizer-path", "--chat-template",
                                        "--revision", "--trust-remote-code"};
  std::erase_if(model.flags, [&](const Flag& flag) {
    return std::ranges::find(kUsed, flag.name()) == std::end(kUsed);
  });
  return {model};
}

}  // namespace foretoken
