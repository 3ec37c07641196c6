#include "text/chat_template.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/file.h"
#include "base/json_text.h"
#include "text/rust_bridge.h"

namespace foretoken {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

// The special tokens as variables of the template: bos_token, ..., additional_special_tokens.
std::string special_variables(const TokenizerConfig& config) {
  json::object variables;
  for (const SpecialToken& special : config.specials)
    variables[special.role] = special.token.content;
  if (!config.additional.empty()) {
    json::array texts;
    for (const AddedToken& token : config.additional) texts.push_back(json::value(token.content));
    variables["additional_special_tokens"] = std::move(texts);
  }
  return json::serialize(variables);
}

[[noreturn]] void refuse(const std::string& where, std::string expected) {
  throw Error({"wrong chat_template", where, std::move(expected), "something else"});
}

}  // namespace

struct ChatTemplate::Sources {
  std::optional<std::string> main;
  std::optional<std::string> tool_use;

  // A text, or a list of {"name", "template"}.
  static Sources from(const json::value& value, const std::string& where) {
    Sources sources;
    if (const json::string* text = value.if_string()) {
      sources.main = std::string(*text);
      return sources;
    }
    if (!value.is_array()) refuse(where, "a text or a list of named templates");
    for (const json::value& item : value.as_array()) {
      const json::object* named = item.if_object();
      const json::value* name = named == nullptr ? nullptr : named->if_contains("name");
      const json::value* text = named == nullptr ? nullptr : named->if_contains("template");
      if (name == nullptr || text == nullptr || !name->is_string() || !text->is_string()) {
        refuse(where, "objects with a name and a template");
      }
      if (name->as_string() == "default") sources.main = std::string(text->as_string());
      if (name->as_string() == "tool_use") sources.tool_use = std::string(text->as_string());
    }
    if (!sources.main && !sources.tool_use) refuse(where, "a template named default");
    return sources;
  }
};

void ChatTemplate::Free::operator()(FtTemplate* chat_template) const {
  ft_template_free(chat_template);
}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

ChatTemplate::ChatTemplate(std::string_view source, const TokenizerConfig& config)
    : ChatTemplate(Sources{std::string(source), std::nullopt}, "", config) {}

ChatTemplate::ChatTemplate(const Sources& sources, const std::string& where,
                           const TokenizerConfig& config)
    : source_(sources.tool_use ? *sources.tool_use : sources.main.value_or("")) {
  const auto optional_span = [](const std::optional<std::string>& text) {
    return text ? span_of(*text) : FtSpan{nullptr, 0};
  };
  FtBuffer error{};
  template_.reset(ft_template_new(optional_span(sources.main), optional_span(sources.tool_use),
                                  span_of(special_variables(config)), &error));
  if (!template_) throw Error({"cannot compile the chat template", where, {}, take(error)});
}

std::optional<ChatTemplate> ChatTemplate::load(const fs::path& folder,
                                               const TokenizerConfig& config,
                                               std::string_view choice) {
  return load(FolderFiles(folder), config, choice);
}

std::optional<ChatTemplate> ChatTemplate::load(const ModelFiles& files,
                                               const TokenizerConfig& config,
                                               std::string_view choice) {
  if (!choice.empty()) {
    std::error_code code;  // a long text is no path, and no error
    if (fs::is_regular_file(choice, code)) {
      const std::string path(choice);
      return ChatTemplate(Sources{read_file(path), std::nullopt}, path, config);
    }
    if (choice.find("{%") == std::string_view::npos &&
        choice.find("{{") == std::string_view::npos) {
      // SGLang also knows templates by name; a name would pass for one that prints itself.
      throw Error({"no such chat template", "--chat-template",
                   "a file with Jinja text, or the text itself",
                   "'" + std::string(choice.substr(0, 200)) +
                       "' (templates known by name are not supported)"});
    }
    return ChatTemplate(Sources{std::string(choice), std::nullopt}, "--chat-template", config);
  }
  const std::string jinja = "chat_template.jinja";
  if (auto text = files.read(jinja)) {
    // A list of templates is saved as files: the default one, and a folder of the others.
    const std::string tools = "additional_chat_templates/tool_use.jinja";
    auto tool_use = files.read(tools);
    const std::string where = files.where(jinja) + (tool_use ? ", " + files.where(tools) : "");
    return ChatTemplate(Sources{std::move(text), std::move(tool_use)}, where, config);
  }
  const json::value* value = config.json.if_contains("chat_template");
  if (value != nullptr && !value->is_null()) {
    const std::string where = files.where("tokenizer_config.json");
    return ChatTemplate(Sources::from(*value, where), where, config);
  }
  const std::string nested_in = "chat_template.json";
  const auto object = read_json_file(files, nested_in);
  const json::value* nested = object ? object->if_contains("chat_template") : nullptr;
  if (nested == nullptr) return std::nullopt;
  return ChatTemplate(Sources::from(*nested, files.where(nested_in)), files.where(nested_in),
                      config);
}

bool ChatTemplate::reads_tools() const { return ft_template_reads_tools(template_.get()); }

Result<std::string> ChatTemplate::render(std::string_view request, MessageForm form) const {
  return render_with(request, form, nullptr);
}

Result<std::string> ChatTemplate::render_at(std::string_view request, MessageForm form,
                                            std::int64_t now) const {
  return render_with(request, form, &now);
}

Result<std::string> ChatTemplate::render_with(std::string_view request, MessageForm form,
                                              const std::int64_t* now) const {
  FtBuffer text{};
  FtBuffer error{};
  if (!ft_template_render(template_.get(), span_of(request), form == MessageForm::kOpenAi, now,
                          &text, &error)) {
    return Refusal{"chat template: " + take(error)};
  }
  return take(text);
}

}  // namespace foretoken
