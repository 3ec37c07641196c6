// EAGLE: a draft head that reads the target's last hidden state, in a checkpoint of its own or, as
// NEXTN, in the target's.
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "checkpoint/tensor_list.h"
#include "draft/algorithm.h"
#include "draft/with_model/draft_loading.h"
#include "draft/with_model/model_shape.h"
#include "model/decoder/load.h"
#include "model/heads/head_config.h"
#include "model/heads/query_head.h"

namespace foretoken {
namespace {

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

// The head comes in the target's checkpoint.
bool is_own(const DraftOptions& options) {
  return options.folder.empty() || is_same_folder(options.folder, options.target_folder);
}

void check_eagle(const DraftOptions& options, const ModelConfig& target) {
  if (is_own(options)) return;
  if (is_query_head(options.folder))
    read_query_head(options.folder, target);
  else
    check_head(options, target, HeadFamily::kEagle);
}

// A head of the target's own was trained with it. Some configs do not say that there is one.
bool drafts_unasked(const std::string& target) {
  try {
    const auto names = source_names(target);
    return !names.empty() && !find_mtp_heads(names, read_model_config(target, {})).empty();
  } catch (const Error&) {
    return false;  // loading the target says what is wrong
  }
}

// Older heads are called as the model that they were made for.
bool recognizes_eagle(const std::string& path) {
  return is_query_head(path) || (is_head_called(path, "") && !is_head_called(path, "eagle3"));
}

std::unique_ptr<DraftModel> load_eagle(Ops& ops, const Decoder& target, const DraftSetup& setup) {
  const DraftOptions& options = setup.options;
  warn_without_effect(options.window.has_value(), "--speculative-draft-window-size",
                      "only EAGLE-3 heads have a window");
  if (is_own(options)) return load_own_head(ops, target, setup);
  if (is_query_head(options.folder)) {
    warn_without_effect(!options.token_map.empty(), "--speculative-token-map",
                        "a head that reads the target's keys and values drafts all tokens");
    return load_query_head(ops, target, setup);
  }
  return load_head(ops, target, setup, HeadFamily::kEagle);
}

constexpr std::string_view kHead = "demo-eagle", kMap = "demo-frspec/freq.pt";
constexpr std::array kEagleTrials{
    DraftTrial{.name = "EAGLE auto", .draft = kHead},
    DraftTrial{.name = "EAGLE 3/4/16", .draft = kHead, .shape = {3, 4, 16}},
    DraftTrial{.name = "EAGLE 5/4/16", .draft = kHead, .shape = {5, 4, 16}},
    DraftTrial{.name = "EAGLE 5/8/64", .draft = kHead, .shape = {5, 8, 64}},
    DraftTrial{.name = "EAGLE+map 5/4/16", .draft = kHead, .shape = {5, 4, 16}, .token_map = kMap},
    DraftTrial{.name = "EAGLE+map 5/8/64", .draft = kHead, .shape = {5, 8, 64}, .token_map = kMap},
};
constexpr std::array kNextnTrials{
    DraftTrial{.name = "NEXTN 1/1/2", .shape = {1, 1, 2}, .target = "demo-mimo"}};

}  // namespace

extern constinit const Algorithm kEagle = {
    .name = "EAGLE",
    .help = "a draft head",
    .shape = head_shape,
    .drafts_unasked = drafts_unasked,
    .recognizes = recognizes_eagle,
    .check = check_eagle,
    .load = load_eagle,
    .make = make_model_drafter,
    .trials = kEagleTrials,
};

extern constinit const Algorithm kNextn = {
    .name = "NEXTN",
    .standing = Algorithm::Standing::kAlias,
    .stands_for = "EAGLE",
    .help = "the head in the target's checkpoint",
    .trials = kNextnTrials,
};

}  // namespace foretoken
