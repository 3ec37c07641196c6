#pragma once
// TextHost: the tokenizer of a model and its chat template, loaded together from the options. Both
// may be used from any thread.

#include <optional>

#include "app/options/options.h"
#include "base/model_files.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace foretoken {

struct TextHost {
  // The template is --chat-template's, else the one beside the tokenizer. Throws Error.
  explicit TextHost(const LoadOptions& load);

  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;  // nullopt: the model has none

  const ChatTemplate* template_or_null() const { return chat_template ? &*chat_template : nullptr; }

 private:
  TextHost(const ModelFiles& files, const LoadOptions& load);
};

}  // namespace foretoken
