#pragma once
// ChatTemplate: renders a conversation into a prompt with a model's Jinja template, byte for byte
// as transformers' apply_chat_template(tokenize=False) does. Not a tokenizer: encode the result
// with AddSpecial::kNo, since the template writes bos itself. A template's time, memory and
// recursion are limited; its errors are Refusals. Threads: const use from any number of threads.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/model_files.h"
#include "text/tokenizer_config.h"

struct FtTemplate;

namespace foretoken {

// How messages reach the template.
enum class MessageForm {
  kAsGiven,  // untouched, as apply_chat_template gets them
  // As an OpenAI client sends them: the arguments of tool calls become objects, null entries
  // vanish, a null content becomes "", and parts of type text join to a string if the template
  // expects one.
  kOpenAi,
};

class ChatTemplate {
 public:
  // Jinja text; special tokens from `config` become variables. Throws Error if the text does not
  // compile.
  ChatTemplate(std::string_view source, const TokenizerConfig& config);

  // The template of a model folder: chat_template.jinja (for requests with tools
  // additional_chat_templates/tool_use.jinja, where it exists), else tokenizer_config.json's
  // chat_template (a text, or a list with "default" and "tool_use"), else chat_template.json;
  // nullopt if there is none. `choice` (--chat-template) overrides it: a file with Jinja text, or
  // the text itself. Throws Error.
  static std::optional<ChatTemplate> load(const ModelFiles& files, const TokenizerConfig& config,
                                          std::string_view choice = {});
  static std::optional<ChatTemplate> load(const std::filesystem::path& folder,
                                          const TokenizerConfig& config,
                                          std::string_view choice = {});

  // request: JSON text of an object; other keys are ignored.
  //   messages                 list, required
  //   tools, documents         list or null
  //   add_generation_prompt    bool, default false
  //   continue_final_message   bool: the prompt ends with the last message, open to be continued
  //   chat_template_kwargs     object: further variables, over the special tokens
  Result<std::string> render(std::string_view request,
                             MessageForm form = MessageForm::kAsGiven) const;

  // The same at a fixed time (seconds since 1970) for strftime_now.
  Result<std::string> render_at(std::string_view request, MessageForm form, std::int64_t now) const;

  // Whether any text comes of `tools`: a template that never looks at them hides them from the
  // model.
  bool reads_tools() const;

  // Its text; where a model has one of its own for tools, that one.
  const std::string& source() const { return source_; }

  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

 private:
  struct Sources;  // the texts of "default" and "tool_use"
  struct Free {
    void operator()(FtTemplate* chat_template) const;
  };

  ChatTemplate(const Sources& sources, const std::string& where, const TokenizerConfig& config);
  Result<std::string> render_with(std::string_view request, MessageForm form,
                                  const std::int64_t* now) const;

  std::unique_ptr<FtTemplate, Free> template_;
  std::string source_;
};

}  // namespace foretoken
