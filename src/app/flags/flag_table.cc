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

FlagTable chat_flags() {
  const FlagGroup own = {
      "Chat",
      {
          {.names = {"--url"},
           .text = "server to chat with, such as http://127.0.0.1:30000; its key is --api-key's or "
                   "FORETOKEN_API_KEY's",
           .default_note = "a model of its own"},
          {.names = {"--system"}, .text = "system prompt"},
          {.names = {"--set"},
           .kind = kTextList,
           .text = "sampling as of /set: temperature=0.7 and its like",
           .is_gathered = true},
          {.names = {"--history-file"},
           .text = "file of what was typed before; empty: none",
           .default_note = "chat_history in the state folder of the user"},
      }};
  FlagTable table = serve_flags();
  table.insert(table.begin(), own);
  return table;
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
                         "--download-dir", "--offline", "--trust-remote-code"})};
}

FlagTable inspect_flags() {
  const FlagGroup report = {
      "Report",
      {{.names = {"--json"}, .kind = kSwitch, .text = "print JSON instead of text"},
       {.names = {"--max-running-requests"},
        .kind = kInteger,
        .text = "requests of full length that memory is computed for",
        .default_value = "1"}}};
  return {report, some_of_model({"--model-path", "--tokenizer-path", "--chat-template",
                                 "--revision", "--download-dir", "--offline", "--context-length",
                                 "--trust-remote-code"})};
}

FlagTable pull_flags() { return {some_of_model({"--revision", "--download-dir"})}; }

FlagTable list_flags() {
  const FlagGroup report = {
      "Report", {{.names = {"--json"}, .kind = kSwitch, .text = "print JSON instead of text"}}};
  return {report, some_of_model({"--download-dir"})};
}

FlagTable devices_flags() {
  return {
      {"Report", {{.names = {"--json"}, .kind = kSwitch, .text = "print JSON instead of text"}}}};
}

FlagTable rm_flags() { return {some_of_model({"--download-dir"})}; }

}  // namespace foretoken
