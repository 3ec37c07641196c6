#include "checkpoint/hub/model_choice.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/letters.h"
#include "checkpoint/formats/gguf/gguf_parts.h"

namespace foretoken {
namespace {

bool is_in_top_folder(std::string_view name) { return name.find('/') == std::string_view::npos; }

std::string_view base_name(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

// Mistral's own form of the same weights lies beside the shards.
bool is_safetensors(std::string_view name) {
  return is_in_top_folder(name) && name.ends_with(".safetensors") &&
         !name.starts_with("consolidated") && !name.starts_with("adapter_model");
}

bool is_torch(std::string_view name) {
  return is_in_top_folder(name) && name.starts_with("pytorch_model") && name.ends_with(".bin");
}

// What trainers leave behind is of no use, and can be large.
bool is_description(std::string_view name) {
  if (name.starts_with("additional_chat_templates/")) return name.ends_with(".jinja");
  if (!is_in_top_folder(name) || name.starts_with("trainer_state")) return false;
  return name.ends_with(".json") || name.ends_with(".jinja") || name.ends_with(".model") ||
         name == "merges.txt" || name == "vocab.txt";
}

// Beside a model lie what turns images into its tokens, and matrices for its quantization.
bool is_gguf_model(std::string_view name) {
  const std::string_view base = base_name(name);
  return base.ends_with(".gguf") && !base.starts_with("mmproj") && !base.starts_with("imatrix");
}

using Models =
    std::map<std::string, std::vector<std::string>>;  // first part -> all parts there are

Models gguf_models(const std::vector<std::string>& names) {
  Models models;
  for (const std::string& name : names) {
    if (!is_gguf_model(name)) continue;
    const auto part = part_of(name);
    models[part ? part->path_of(1) : name].push_back(name);
  }
  return models;
}

bool has_all_parts(const Models::value_type& model) {
  return gguf_files_of(model.first).size() == model.second.size();
}

// Whether the quantization stands in the name as a word of its own: Q4_K is not in Q4_K_M.
bool names_quant(std::string_view name, const std::string& quant) {
  const std::string text = lower_case(std::string(name)), word = lower_case(quant);
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end])))
      return true;
  }
  return false;
}

bool is_all(std::string_view text, int (*is_wanted)(int)) {
  return !text.empty() &&
         std::ranges::all_of(text, [&](unsigned char c) { return is_wanted(c) != 0; });
}

// Q4_0, Q4_K, Q4_K_M, IQ4_XS, TQ1_0 and the names of floats, in capitals.
bool is_quant(std::string_view word) {
  constexpr std::string_view kOthers[] = {"F16", "BF16", "F32", "MXFP4", "TQ1_0", "TQ2_0"};
  if (std::ranges::count(kOthers, word) > 0) return true;
  if (word.starts_with('I')) word.remove_prefix(1);
  if (word.size() < 4 || word[0] != 'Q' || word[1] < '1' || word[1] > '8' || word[2] != '_')
    return false;
  word.remove_prefix(3);
  if (word.starts_with("K_")) return is_all(word.substr(2), std::isalpha);
  return is_all(word, std::isalpha) || (word.size() == 1 && is_all(word, std::isdigit));
}

std::string list_of(const Models& models) {
  std::string list;
  for (const auto& [first, parts] : models) {
    const std::string quant = quant_of(first);
    list += (list.empty() ? "" : ", ") + (quant.empty() ? first : quant);
  }
  return list.empty() ? "no GGUF file" : list;
}

ModelChoice choose_gguf(const std::string& id, const Models& models, const std::string& quant) {
  Models fitting;
  const std::string wanted = quant.empty() ? std::string(kUsualQuant) : quant;
  for (const auto& model : models)
    if (names_quant(model.first, wanted)) fitting.insert(model);
  if (fitting.empty() && quant.empty() && models.size() == 1) fitting = models;
  if (fitting.empty())
    throw Error(
        {"there is no quantization " + wanted, id, "one of those there are", list_of(models)});
  if (fitting.size() > 1) {
    std::string found;
    for (const auto& [first, parts] : fitting) found += (found.empty() ? "" : ", ") + first;
    throw Error({"several files are of quantization " + wanted, id, id + "/FILE", found});
  }
  const auto& model = *fitting.begin();
  if (!has_all_parts(model))
    throw Error({"missing part of the GGUF model", id + "/" + model.first,
                 std::to_string(gguf_files_of(model.first).size()) + " parts",
                 std::to_string(model.second.size())});
  return {model.second, model.first};
}

}  // namespace

std::string quant_of(std::string_view name) {
  const std::string base = upper_case(std::string(base_name(name)));
  std::string before;
  for (std::size_t begin = 0; begin <= base.size();) {
    const std::size_t end = std::min(base.find_first_of("-./", begin), base.size());
    const std::string word = base.substr(begin, end - begin);
    for (std::size_t at = 0; at < word.size();
         at = std::min(word.find('_', at), word.size() - 1) + 1)
      if (is_quant(std::string_view(word).substr(at)))
        return (before == "UD" ? "UD-" : "") + word.substr(at);
    before = word;
    begin = end + 1;
  }
  return {};
}

ModelChoice choose_model(const std::string& id, const std::vector<std::string>& names,
                         const std::string& quant) {
  ModelChoice choice;
  const auto take = [&](auto is_wanted) {
    const std::size_t before = choice.files.size();
    std::ranges::copy_if(names, std::back_inserter(choice.files), is_wanted);
    return choice.files.size() > before;
  };
  const Models models = gguf_models(names);
  const bool has_others = quant.empty() && (take(is_safetensors) || take(is_torch));
  if (has_others) {
    take(is_description);
  } else if (!models.empty() || !quant.empty()) {
    choice = choose_gguf(id, models, quant);
  } else {
    throw Error({"there are no weights", id, "*.safetensors, pytorch_model*.bin or *.gguf",
                 names.empty() ? "no file" : std::to_string(names.size()) + " other files"});
  }
  std::ranges::sort(choice.files);
  return choice;
}

}  // namespace foretoken
