// EAGLE3: a draft head that reads hidden states of three of the target's layers.
#include <array>

#include "draft/algorithm.h"
#include "draft/with_model/draft_loading.h"
#include "draft/with_model/model_shape.h"

namespace foretoken {
namespace {

void check_eagle3(const DraftOptions& options, const ModelConfig& target) {
  check_head(options, target, HeadFamily::kEagle3);
}

bool recognizes_eagle3(const std::string& path) { return is_head_called(path, "eagle3"); }

std::unique_ptr<DraftModel> load_eagle3(Ops& ops, const Decoder& target, const DraftSetup& setup) {
  warn_without_effect(!setup.options.token_map.empty(), "--speculative-token-map",
                      "an EAGLE-3 head has a vocabulary of its own");
  return load_head(ops, target, setup, HeadFamily::kEagle3);
}

constexpr std::array kEagle3Trials{
    DraftTrial{.name = "EAGLE3 auto", .draft = "demo-eagle3"},
    DraftTrial{.name = "EAGLE3 5/4/16", .draft = "demo-eagle3", .shape = {5, 4, 16}},
    DraftTrial{.name = "EAGLE3 5/8/32", .draft = "demo-eagle3", .shape = {5, 8, 32}},
};

}  // namespace

extern constinit const Algorithm kEagle3 = {
    .name = "EAGLE3",
    .help = "a draft head",
    .shape = head_shape,
    .needs_folder = true,
    .recognizes = recognizes_eagle3,
    .check = check_eagle3,
    .load = load_eagle3,
    .make = make_model_drafter,
    .trials = kEagle3Trials,
};

}  // namespace foretoken
