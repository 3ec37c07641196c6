#include "app/host/text_host.h"

#include <filesystem>

namespace foretoken {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& tokenizer) {
  return std::filesystem::is_directory(tokenizer) ? tokenizer : tokenizer.parent_path();
}

}  // namespace

TextHost::TextHost(const LoadOptions& load)
    : tokenizer(load.tokenizer_path),
      chat_template(ChatTemplate::load(folder_of(load.tokenizer_path), tokenizer.config(),
                                       load.chat_template)) {}

}  // namespace foretoken
