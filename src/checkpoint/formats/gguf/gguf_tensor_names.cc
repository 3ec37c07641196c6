// Names of tensors of a GGUF file as those of a checkpoint of Hugging Face.
#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "checkpoint/formats/gguf/gguf_architecture.h"
#include "checkpoint/formats/gguf/gguf_names.h"

namespace foretoken {
namespace {

using LayerName = GgufArchitecture::LayerName;

std::optional<std::string_view> renamed(std::span<const LayerName> names, std::string_view stored) {
  const auto found = std::ranges::find(names, stored, &LayerName::stored);
  return found == names.end() ? std::nullopt : std::optional(found->name);
}

std::optional<std::string_view> layer_name(const GgufArchitecture& architecture,
                                           std::string_view stored) {
  const auto own = renamed(architecture.layer_names, stored);
  return own ? own : renamed(gguf_names::kLayerNames, stored);
}

// Older files have a tensor for each expert: "ffn_up.3" is number 3 of "ffn_up_exps".
std::optional<std::string> lone_expert(const GgufArchitecture& architecture,
                                       std::string_view stored) {
  const std::size_t dot = stored.rfind('.');
  if (!architecture.has_experts || dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits = stored.substr(dot + 1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
    return std::nullopt;
  const auto all = layer_name(architecture, std::string(stored.substr(0, dot)) + "_exps");
  return all ? std::optional(expert_name(std::string(*all), number)) : std::nullopt;
}

}  // namespace

std::optional<std::string> decoder_name(const GgufArchitecture& architecture,
                                        std::string_view stored) {
  constexpr std::string_view kBlock = "blk.";
  std::string_view kind;  // empty: it is neither
  for (const std::string_view suffix : {".weight", ".bias"})
    if (stored.ends_with(suffix)) kind = suffix;
  std::string_view name = stored.substr(0, stored.size() - kind.size());
  if (!name.starts_with(kBlock)) {
    const auto known = renamed(gguf_names::kModelNames, name);
    return known ? std::optional(std::string(*known) + std::string(kind)) : std::nullopt;
  }
  name.remove_prefix(kBlock.size());
  const std::size_t end = name.find('.');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string layer = "model.layers." + std::string(name.substr(0, end + 1));
  if (const auto whole = renamed(architecture.layer_names, stored.substr(kBlock.size() + end + 1)))
    return layer + std::string(*whole);
  name.remove_prefix(end + 1);
  if (const auto expert = lone_expert(architecture, name))
    return layer + *expert + std::string(kind);
  const auto known = layer_name(architecture, name);
  if (!known) return std::nullopt;
  const std::string named = layer + std::string(*known);
  const bool is_whole = known->ends_with("_bias") || known->ends_with("sinks");
  return is_whole ? named : named + std::string(kind);
}

std::string expert_name(const std::string& name_with_star, std::int64_t expert) {
  std::string name = name_with_star;
  return name.replace(name.find('*'), 1, std::to_string(expert));
}

}  // namespace foretoken
