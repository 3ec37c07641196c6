#include "server/request/prompt_text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace foretoken {
namespace {

// Longer text is not encoded, although it might be few tokens (a run of spaces can be one):
// encoding takes a hundred bytes of memory for each byte of text.
std::size_t most_text_bytes(const ServerConfig& config) {
  constexpr std::size_t kLeast = 1 << 20, kOfToken = 64;
  return std::max(kLeast, kOfToken * static_cast<std::size_t>(config.context_length));
}

// The end of the last character that ends within `limit` bytes.
std::size_t whole_characters(std::string_view text, std::size_t limit) {
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

}  // namespace

Result<std::vector<Token>> encode_text(const ServerContext& context, std::string_view text,
                                       AddSpecial special) {
  if (context.tokenizer == nullptr)
    return Refusal{
        "text needs a tokenizer, and this server runs with --skip-tokenizer-init: send "
        "input_ids to /generate"};
  if (const std::size_t most = most_text_bytes(context.config); text.size() > most)
    return Refusal{fmt::format("the text is too long to be tokenized: at most {} bytes (found {})",
                               most, text.size())};
  return context.tokenizer->encode(text, special);
}

Result<std::vector<Token>> encode_prompt(const ServerContext& context, std::string_view text,
                                         AddSpecial special) {
  const ServerConfig& config = context.config;
  if (config.allow_auto_truncate && text.size() > most_text_bytes(config))
    text = text.substr(0, whole_characters(text, most_text_bytes(config)));
  if (config.allow_auto_truncate || context.tokenizer == nullptr)
    return encode_text(context, text, special);
  const auto least = static_cast<std::int64_t>(context.tokenizer->least_tokens(text));
  if (least >= config.context_length)
    return Refusal{fmt::format(
        "The input (at least {} tokens) is longer than the model's context length ({} tokens).",
        least, config.context_length)};
  return encode_text(context, text, special);
}

}  // namespace foretoken
