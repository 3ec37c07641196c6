#include <iostream>
#include <optional>

#include "app/commands.h"
#include "app/options.h"
#include "text/chat_template.h"
#include "text/tokenize_lines.h"
#include "text/tokenizer.h"

namespace foretoken {

int tokenize(std::span<const std::string> args) {
  const LoadOptions load =
      resolve_text_options(parse_flags(args, tokenize_flags()), Environment::from_process());
  const Tokenizer tokenizer(load.tokenizer_path);
  const auto chat_template =
      ChatTemplate::load(load.model_folder, tokenizer.config(), load.chat_template);
  std::ios::sync_with_stdio(false);
  tokenize_lines(std::cin, std::cout, tokenizer, chat_template ? &*chat_template : nullptr);
  return 0;
}

}  // namespace foretoken
