#include <iostream>

#include "app/commands/commands.h"
#include "app/host/text_host.h"
#include "app/options/resolve_options.h"
#include "text/tokenize_lines.h"

namespace foretoken {

int tokenize(std::span<const std::string> args) {
  const TextHost text(
      resolve_text_options(parse_flags(args, tokenize_flags()), Environment::from_process()));
  std::ios::sync_with_stdio(false);
  tokenize_lines(std::cin, std::cout, text.tokenizer, text.template_or_null());
  return 0;
}

}  // namespace foretoken
