#include "app/host/text_host.h"

#include "checkpoint/model_files.h"

namespace foretoken {

TextHost::TextHost(const LoadOptions& load)
    : TextHost(*open_model_files(load.tokenizer_path), load) {}

TextHost::TextHost(const ModelFiles& files, const LoadOptions& load)
    : tokenizer(files),
      chat_template(ChatTemplate::load(files, tokenizer.config(), load.chat_template)) {}

}  // namespace foretoken
