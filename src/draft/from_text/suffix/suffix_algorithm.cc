// SUFFIX: what followed most often, in earlier texts and in predictions; and the service that drafts
// from predictions alone, where SUFFIX does not.
#include "draft/from_text/suffix/suffix_algorithm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "draft/algorithm.h"
#include "draft/from_text/suffix/suffix_drafter.h"
#include "draft/from_text/text_flags.h"
#include "draft/shape_rules.h"

namespace foretoken {
namespace {

using enum FlagKind;

std::vector<Flag> suffix_flags() {
  return {
      {.names = {"--speculative-suffix-max-tree-depth"},
       .kind = kInteger,
       .text = "tokens of the longest run that is counted",
       .default_value = "24"},
      {.names = {"--speculative-suffix-max-cached-requests"},
       .kind = kInteger,
       .text = "finished answers that are remembered; 0: drafts come from the request alone",
       .default_value = "10000"},
      {.names = {"--speculative-suffix-max-spec-factor"},
       .kind = kNumber,
       .text = "drafts for each token that agrees with an earlier text, at most",
       .default_value = "1.0"},
      {.names = {"--speculative-suffix-min-token-prob"},
       .kind = kNumber,
       .text = "least probability of a draft, by how often it followed",
       .default_value = "0.1"},
      {.names = {"--speculative-suffix-capacity"},
       .kind = kInteger,
       .text = "tokens of all texts that are kept, some 100 bytes each; the oldest answers "
               "leave first",
       .default_value = "2000000"},
      isolation_flag("--speculative-suffix-isolation"),
  };
}

void read_suffix(const FlagValues& values, OwnOptions& own) {
  auto& options = own.edit<SuffixOptions>();
  options.max_depth = static_cast<int>(
      integer_within(values, "--speculative-suffix-max-tree-depth", 2, kMostSuffixDepth));
  options.max_answers = static_cast<int>(
      integer_within(values, "--speculative-suffix-max-cached-requests", 0, 1'000'000'000));
  options.shape.factor =
      static_cast<float>(number_within(values, "--speculative-suffix-max-spec-factor", 0, 1000));
  options.shape.least_probability =
      static_cast<float>(number_within(values, "--speculative-suffix-min-token-prob", 0, 1));
  options.capacity = integer_within(values, "--speculative-suffix-capacity", 1, kMostSuffixTokens);
  options.isolation = isolation_named(values.text("--speculative-suffix-isolation"));
}

// Chains, as long as texts can agree within a tree.
TreeShape suffix_shape(const DraftOptions& options, const std::string&) {
  return chain_shape(options, "SUFFIX", options.own.get<SuffixOptions>().max_depth + 1);
}

std::size_t bytes_of(const SuffixOptions& options) {
  return SuffixTrees::bytes_for(options.capacity, options.max_depth);
}

std::size_t suffix_bytes(const DraftOptions& options) {
  return bytes_of(options.own.get<SuffixOptions>());
}

std::unique_ptr<Drafter> make_with(const SuffixOptions& options, PartSetup part) {
  return std::make_unique<SuffixDrafter>(options, part.shape.nodes, part.num_slots,
                                         std::move(part.pace));
}

std::unique_ptr<Drafter> make_suffix(PartSetup part) {
  return make_with(part.setup.options.own.get<SuffixOptions>(), std::move(part));
}

// It needs nothing, and its drafts cost next to nothing.
bool drafts_unasked(const std::string&) { return true; }

constexpr std::array kSuffixTrials{
    DraftTrial{.name = "SUFFIX", .flags = "--speculative-suffix-isolation request"}};

// ---- predictions alone

std::vector<Flag> prediction_flags() {
  return {{.names = {"--disable-predictions"},
           .kind = kSwitch,
           .text = "do not draft from the `prediction` of a chat request"}};
}

bool serves_predictions(const DraftOptions& options) { return options.serves_predictions; }

TreeShape prediction_shape(const DraftOptions&, const std::string&) {
  return {.steps = kPredictionNodes - 1, .topk = 1, .nodes = kPredictionNodes};
}

std::size_t prediction_bytes(const DraftOptions& options) {
  return bytes_of(prediction_options(options));
}

std::unique_ptr<Drafter> make_prediction(PartSetup part) {
  return make_with(prediction_options(part.setup.options), std::move(part));
}

}  // namespace

SuffixOptions prediction_options(const DraftOptions& options) {
  constexpr std::int64_t kCapacity = std::int64_t{1} << 19;
  SuffixOptions suffix = options.own.get<SuffixOptions>();
  suffix.only_predictions = true;
  suffix.max_answers = 0;
  suffix.capacity = std::min(suffix.capacity, kCapacity);
  suffix.most_drafts = kPredictionDrafts;
  return suffix;
}

extern constinit const Algorithm kSuffix = {
    .name = "SUFFIX",
    .help = "earlier texts",
    .flags = suffix_flags,
    .read = read_suffix,
    .shape = suffix_shape,
    .reads_predictions = true,
    .bytes = suffix_bytes,
    .drafts_unasked = drafts_unasked,
    .make = make_suffix,
    .trials = kSuffixTrials,
};

extern constinit const Algorithm kPrediction = {
    .name = "PREDICTION",
    .standing = Algorithm::Standing::kService,
    .flags = prediction_flags,
    .shape = prediction_shape,
    .serves = serves_predictions,
    .most_drafts = kPredictionDrafts,
    .reads_predictions = true,
    .bytes = prediction_bytes,
    .make = make_prediction,
};

}  // namespace foretoken
