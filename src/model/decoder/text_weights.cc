#include "model/decoder/text_weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "model/decoder/named_weights.h"

namespace foretoken {
namespace {

// How writers begin the names of the text's tensors, the longest first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPrefixes{{
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
    {"model.language_model.", "model."},
    {"language_model.", "model."},
}};

constexpr std::array<std::string_view, 8> kTowers{
    "vision_tower", "multi_modal_projector", "visual",          "audio_tower",
    "embed_vision", "embed_audio",           "vision_embedder", "vision_model"};

// Empty where it is no tower's.
std::string_view tower_of(std::string_view name) {
  constexpr std::string_view kModel = "model.";
  if (name.starts_with(kModel)) name.remove_prefix(kModel.size());
  const std::string_view first = name.substr(0, name.find('.'));
  return std::ranges::find(kTowers, first) == kTowers.end() ? std::string_view{} : first;
}

std::string decoder_name(const std::string& stored) {
  for (const auto& [prefix, known] : kPrefixes)
    if (stored.starts_with(prefix)) return std::string(known) + stored.substr(prefix.size());
  return stored;
}

}  // namespace

std::unique_ptr<WeightSource> text_weights(std::unique_ptr<WeightSource> source) {
  const auto names = source->names();
  if (names.empty()) return source;  // made-up weights have every name
  std::map<std::string, std::string> text;
  std::size_t left_out = 0;
  std::set<std::string> towers;
  for (const std::string& stored : names) {
    if (const std::string_view tower = tower_of(stored); !tower.empty()) {
      ++left_out;
      towers.emplace(tower);
      source->release(stored);
      continue;
    }
    const auto [entry, is_new] = text.emplace(decoder_name(stored), stored);
    if (!is_new)
      throw Error({"two tensors stand for one of the decoder's",
                   source->where() + ", tensor " + stored,
                   {},
                   entry->second + ", too"});
  }
  if (left_out > 0)
    log_info("Text only is served: {} tensors of {} are not read.", left_out,
             fmt::join(towers, " and "));
  return std::make_unique<NamedWeights>(std::move(source), std::move(text));
}

}  // namespace foretoken
