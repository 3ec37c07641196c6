#include "checkpoint/testing/gguf_models.h"

#include <vector>

namespace foretoken {
namespace {

// GPT-2's letter for a byte: itself where it can be seen, else one from U+0100 on.
std::string letter_of(int byte) {
  const auto is_visible = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  int code = byte;
  if (!is_visible(byte)) {
    code = 256;
    for (int other = 0; other < byte; ++other)
      if (!is_visible(other)) ++code;
  }
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

GgufBytes gguf_keys(const std::string& architecture) {
  GgufBytes file;
  const std::string prefix = architecture + ".";
  file.text("general.architecture", architecture);
  file.u32(prefix + "block_count", 2).u32(prefix + "context_length", 256);
  file.u32(prefix + "embedding_length", 64).u32(prefix + "feed_forward_length", 96);
  file.u32(prefix + "attention.head_count", 4).u32(prefix + "attention.head_count_kv", 2);
  file.f32(prefix + "attention.layer_norm_rms_epsilon", 1e-5F);
  file.f32(prefix + "rope.freq_base", 5000.0F);
  return file;
}

GgufBytes& add_byte_level(GgufBytes& file, const std::string& pre) {
  constexpr std::size_t kTokens = 288;
  constexpr std::int32_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5;
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(letter_of(byte));
  const std::vector<std::string> merges{"h e", "l l", "he ll", "hell o", "\u0120 w"};
  for (const std::string& merge : merges) {
    std::string joined = merge;
    joined.erase(joined.find(' '), 1);
    tokens.push_back(joined);
  }
  std::vector<std::int32_t> types(tokens.size(), kNormal);
  tokens.insert(tokens.end(), {"<|end|>", "<tool>"});
  types.insert(types.end(), {kControl, kUserDefined});
  while (tokens.size() < kTokens) {
    tokens.push_back("[PAD" + std::to_string(tokens.size()) + "]");
    types.push_back(kUnused);
  }
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", pre);
  file.texts("tokenizer.ggml.tokens", tokens).i32s("tokenizer.ggml.token_type", types);
  return file.texts("tokenizer.ggml.merges", merges).u32("tokenizer.ggml.eos_token_id", 261);
}

}  // namespace foretoken
