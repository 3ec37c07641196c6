// Heads of a target's own checkpoint, through the matrix's cells of such trees.
#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "draft/catalogue/make_drafter.h"
#include "draft/catalogue/plan_drafts.h"
#include "invariance/laboratory.h"
#include "invariance/matrix.h"
#include "invariance/request_mix.h"
#include "model/decoder/load.h"

namespace foretoken {
namespace {

// The head of a checkpoint whose layers keep states and have experts.
TEST(OwnHeads, tokens_and_logprobs_are_those_of_plain_decoding) {
  DraftOptions options;
  options.algorithm = "EAGLE";
  options.target_folder = FORETOKEN_SOURCE_DIR "/tests/golden/drafts/targets/states_experts_mtp";
  options.load.show_progress = false;
  const ModelOptions load{.dtype = "bfloat16",
                          .config_overrides = R"({"max_position_embeddings": 1056})",
                          .show_progress = false};
  Laboratory laboratory(
      "tile", [&](Ops& ops) { return load_model(ops, options.target_folder, load); }, {},
      [&](Ops& ops, const Decoder& target, Proposer) {
        return load_draft_model(ops, target, set_up_drafts(options, target.config().architecture));
      });
  const Matrix matrix(cpu_isas());
  auto requests = request_mix(static_cast<std::int64_t>(laboratory.vocab()));
  requests.resize(std::min<std::size_t>(requests.size(), 5));
  const auto base = laboratory.run(Laboratory::base_cell(), requests);
  const auto truth = texts_of(requests, base);
  for (const std::uint64_t number : matrix.model_sweep()) {
    const Cell cell = matrix.cell(number);
    if (cell.trees.proposer != Proposer::kNextn) continue;
    EXPECT_EQ(first_difference(laboratory.run(cell, requests, truth), base), "") << cell.str();
  }
  EXPECT_GT(laboratory.occurrences().proposed, 0U);
}

}  // namespace
}  // namespace foretoken
