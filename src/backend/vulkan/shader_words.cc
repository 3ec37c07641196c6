#include "backend/vulkan/shader_words.h"

#include "base/error.h"
#include "base/word_sum.h"

namespace foretoken {
namespace {

constexpr std::uint32_t kAddAtWords[] = {
#include "backend/vulkan/spirv/add_at.words"
};
constexpr std::uint32_t kAddWeightedWords[] = {
#include "backend/vulkan/spirv/add_weighted.words"
};
constexpr std::uint32_t kAttentionWords[] = {
#include "backend/vulkan/spirv/attention.words"
};
constexpr std::uint32_t kAttentionJoinWords[] = {
#include "backend/vulkan/spirv/attention_join.words"
};
constexpr std::uint32_t kCentreWords[] = {
#include "backend/vulkan/spirv/centre.words"
};
constexpr std::uint32_t kCentreDoublesWords[] = {
#include "backend/vulkan/spirv/centre_doubles.words"
};
constexpr std::uint32_t kElementsWords[] = {
#include "backend/vulkan/spirv/elements.words"
};
constexpr std::uint32_t kFindTokensWords[] = {
#include "backend/vulkan/spirv/find_tokens.words"
};
constexpr std::uint32_t kGatedActWords[] = {
#include "backend/vulkan/spirv/gated_act.words"
};
constexpr std::uint32_t kGroupRowsWords[] = {
#include "backend/vulkan/spirv/group_rows.words"
};
constexpr std::uint32_t kHalveRowsWords[] = {
#include "backend/vulkan/spirv/halve_rows.words"
};
constexpr std::uint32_t kKvMoveWords[] = {
#include "backend/vulkan/spirv/kv_move.words"
};
constexpr std::uint32_t kLinearWords[] = {
#include "backend/vulkan/spirv/linear.words"
};
constexpr std::uint32_t kLinearChainWords[] = {
#include "backend/vulkan/spirv/linear_chain.words"
};
constexpr std::uint32_t kLinearChainChosenWords[] = {
#include "backend/vulkan/spirv/linear_chain_chosen.words"
};
constexpr std::uint32_t kLinearChosenWords[] = {
#include "backend/vulkan/spirv/linear_chosen.words"
};
constexpr std::uint32_t kLinearCodesWords[] = {
#include "backend/vulkan/spirv/linear_codes.words"
};
constexpr std::uint32_t kLinearCodesChosenWords[] = {
#include "backend/vulkan/spirv/linear_codes_chosen.words"
};
constexpr std::uint32_t kLinearRoundedWords[] = {
#include "backend/vulkan/spirv/linear_rounded.words"
};
constexpr std::uint32_t kLinearRoundedChosenWords[] = {
#include "backend/vulkan/spirv/linear_rounded_chosen.words"
};
constexpr std::uint32_t kLinearUnitsWords[] = {
#include "backend/vulkan/spirv/linear_units.words"
};
constexpr std::uint32_t kLinearUnitsBf16Words[] = {
#include "backend/vulkan/spirv/linear_units_bf16.words"
};
constexpr std::uint32_t kMoveRowsWords[] = {
#include "backend/vulkan/spirv/move_rows.words"
};
constexpr std::uint32_t kNormWords[] = {
#include "backend/vulkan/spirv/norm.words"
};
constexpr std::uint32_t kOrderRowsWords[] = {
#include "backend/vulkan/spirv/order_rows.words"
};
constexpr std::uint32_t kProbeWords[] = {
#include "backend/vulkan/spirv/probe.words"
};
constexpr std::uint32_t kReadWords[] = {
#include "backend/vulkan/spirv/read.words"
};
constexpr std::uint32_t kRecurAdvanceWords[] = {
#include "backend/vulkan/spirv/recur_advance.words"
};
constexpr std::uint32_t kRecurDecayWords[] = {
#include "backend/vulkan/spirv/recur_decay.words"
};
constexpr std::uint32_t kRecurMixWords[] = {
#include "backend/vulkan/spirv/recur_mix.words"
};
constexpr std::uint32_t kRecurNormWords[] = {
#include "backend/vulkan/spirv/recur_norm.words"
};
constexpr std::uint32_t kRecurRowsWords[] = {
#include "backend/vulkan/spirv/recur_rows.words"
};
constexpr std::uint32_t kRopeStoreWords[] = {
#include "backend/vulkan/spirv/rope_store.words"
};
constexpr std::uint32_t kRoundCodesWords[] = {
#include "backend/vulkan/spirv/round_codes.words"
};
constexpr std::uint32_t kRoundInputWords[] = {
#include "backend/vulkan/spirv/round_input.words"
};
constexpr std::uint32_t kRoundSupersWords[] = {
#include "backend/vulkan/spirv/round_supers.words"
};
constexpr std::uint32_t kRoundedUnitsWords[] = {
#include "backend/vulkan/spirv/rounded_units.words"
};
constexpr std::uint32_t kRouteWords[] = {
#include "backend/vulkan/spirv/route.words"
};
constexpr std::uint32_t kRowTopsWords[] = {
#include "backend/vulkan/spirv/row_tops.words"
};
constexpr std::uint32_t kRowsWords[] = {
#include "backend/vulkan/spirv/rows.words"
};
constexpr std::uint32_t kRowsCodesWords[] = {
#include "backend/vulkan/spirv/rows_codes.words"
};
constexpr std::uint32_t kStoreLatentWords[] = {
#include "backend/vulkan/spirv/store_latent.words"
};
constexpr std::uint32_t kTopChancesWords[] = {
#include "backend/vulkan/spirv/top_chances.words"
};
constexpr std::uint32_t kAttentionDoublesWords[] = {
#include "backend/vulkan/spirv/attention_doubles.words"
};
constexpr std::uint32_t kAttentionJoinDoublesWords[] = {
#include "backend/vulkan/spirv/attention_join_doubles.words"
};
constexpr std::uint32_t kElementsDoublesWords[] = {
#include "backend/vulkan/spirv/elements_doubles.words"
};
constexpr std::uint32_t kGatedActDoublesWords[] = {
#include "backend/vulkan/spirv/gated_act_doubles.words"
};
constexpr std::uint32_t kLinearChainChosenDoublesWords[] = {
#include "backend/vulkan/spirv/linear_chain_chosen_doubles.words"
};
constexpr std::uint32_t kLinearChainDoublesWords[] = {
#include "backend/vulkan/spirv/linear_chain_doubles.words"
};
constexpr std::uint32_t kLinearRoundedChosenDoublesWords[] = {
#include "backend/vulkan/spirv/linear_rounded_chosen_doubles.words"
};
constexpr std::uint32_t kLinearRoundedDoublesWords[] = {
#include "backend/vulkan/spirv/linear_rounded_doubles.words"
};
constexpr std::uint32_t kNormDoublesWords[] = {
#include "backend/vulkan/spirv/norm_doubles.words"
};
constexpr std::uint32_t kProbeDoublesWords[] = {
#include "backend/vulkan/spirv/probe_doubles.words"
};
constexpr std::uint32_t kRecurAdvanceDoublesWords[] = {
#include "backend/vulkan/spirv/recur_advance_doubles.words"
};
constexpr std::uint32_t kRecurDecayDoublesWords[] = {
#include "backend/vulkan/spirv/recur_decay_doubles.words"
};
constexpr std::uint32_t kRecurMixDoublesWords[] = {
#include "backend/vulkan/spirv/recur_mix_doubles.words"
};
constexpr std::uint32_t kRecurNormDoublesWords[] = {
#include "backend/vulkan/spirv/recur_norm_doubles.words"
};
constexpr std::uint32_t kRecurRowsDoublesWords[] = {
#include "backend/vulkan/spirv/recur_rows_doubles.words"
};
constexpr std::uint32_t kRopeStoreDoublesWords[] = {
#include "backend/vulkan/spirv/rope_store_doubles.words"
};
constexpr std::uint32_t kRoundCodesDoublesWords[] = {
#include "backend/vulkan/spirv/round_codes_doubles.words"
};
constexpr std::uint32_t kRoundSupersDoublesWords[] = {
#include "backend/vulkan/spirv/round_supers_doubles.words"
};
constexpr std::uint32_t kRoundedUnitsDoublesWords[] = {
#include "backend/vulkan/spirv/rounded_units_doubles.words"
};
constexpr std::uint32_t kRouteDoublesWords[] = {
#include "backend/vulkan/spirv/route_doubles.words"
};
constexpr std::uint32_t kStoreLatentDoublesWords[] = {
#include "backend/vulkan/spirv/store_latent_doubles.words"
};
constexpr std::uint32_t kTopChancesDoublesWords[] = {
#include "backend/vulkan/spirv/top_chances_doubles.words"
};

// Of a shader: the words, and those of its form with doubles where it has one.
struct Forms {
  std::span<const std::uint32_t> plain, doubles = {};
};

Forms forms_of(Shader shader) {
  switch (shader) {
    case Shader::kAddAt:
      return {kAddAtWords, {}};
    case Shader::kAddWeighted:
      return {kAddWeightedWords, {}};
    case Shader::kAttention:
      return {kAttentionWords, kAttentionDoublesWords};
    case Shader::kAttentionJoin:
      return {kAttentionJoinWords, kAttentionJoinDoublesWords};
    case Shader::kCentre:
      return {kCentreWords, kCentreDoublesWords};
    case Shader::kElements:
      return {kElementsWords, kElementsDoublesWords};
    case Shader::kFindTokens:
      return {kFindTokensWords, {}};
    case Shader::kGatedAct:
      return {kGatedActWords, kGatedActDoublesWords};
    case Shader::kGroupRows:
      return {kGroupRowsWords, {}};
    case Shader::kHalveRows:
      return {kHalveRowsWords, {}};
    case Shader::kKvMove:
      return {kKvMoveWords, {}};
    case Shader::kLinear:
      return {kLinearWords, {}};
    case Shader::kLinearChain:
      return {kLinearChainWords, kLinearChainDoublesWords};
    case Shader::kLinearChainChosen:
      return {kLinearChainChosenWords, kLinearChainChosenDoublesWords};
    case Shader::kLinearChosen:
      return {kLinearChosenWords, {}};
    case Shader::kLinearCodes:
      return {kLinearCodesWords, {}};
    case Shader::kLinearCodesChosen:
      return {kLinearCodesChosenWords, {}};
    case Shader::kLinearRounded:
      return {kLinearRoundedWords, kLinearRoundedDoublesWords};
    case Shader::kLinearRoundedChosen:
      return {kLinearRoundedChosenWords, kLinearRoundedChosenDoublesWords};
    case Shader::kLinearUnits:
      return {kLinearUnitsWords, {}};
    case Shader::kLinearUnitsBf16:
      return {kLinearUnitsBf16Words, {}};
    case Shader::kMoveRows:
      return {kMoveRowsWords, {}};
    case Shader::kNorm:
      return {kNormWords, kNormDoublesWords};
    case Shader::kOrderRows:
      return {kOrderRowsWords, {}};
    case Shader::kProbe:
      return {kProbeWords, kProbeDoublesWords};
    case Shader::kRead:
      return {kReadWords, {}};
    case Shader::kRecurAdvance:
      return {kRecurAdvanceWords, kRecurAdvanceDoublesWords};
    case Shader::kRecurDecay:
      return {kRecurDecayWords, kRecurDecayDoublesWords};
    case Shader::kRecurMix:
      return {kRecurMixWords, kRecurMixDoublesWords};
    case Shader::kRecurNorm:
      return {kRecurNormWords, kRecurNormDoublesWords};
    case Shader::kRecurRows:
      return {kRecurRowsWords, kRecurRowsDoublesWords};
    case Shader::kRopeStore:
      return {kRopeStoreWords, kRopeStoreDoublesWords};
    case Shader::kRoundCodes:
      return {kRoundCodesWords, kRoundCodesDoublesWords};
    case Shader::kRoundInput:
      return {kRoundInputWords, {}};
    case Shader::kRoundSupers:
      return {kRoundSupersWords, kRoundSupersDoublesWords};
    case Shader::kRoundedUnits:
      return {kRoundedUnitsWords, kRoundedUnitsDoublesWords};
    case Shader::kRoute:
      return {kRouteWords, kRouteDoublesWords};
    case Shader::kRowTops:
      return {kRowTopsWords, {}};
    case Shader::kRows:
      return {kRowsWords, {}};
    case Shader::kRowsCodes:
      return {kRowsCodesWords, {}};
    case Shader::kStoreLatent:
      return {kStoreLatentWords, kStoreLatentDoublesWords};
    case Shader::kTopChances:
      return {kTopChancesWords, kTopChancesDoublesWords};
  }
  CHECK(false) << "no such shader";
  return {};
}

}  // namespace

std::span<const std::uint32_t> spirv_of(Shader shader, bool doubles) {
  const Forms forms = forms_of(shader);
  return doubles && !forms.doubles.empty() ? forms.doubles : forms.plain;
}

std::uint64_t spirv_sum() {
  std::uint64_t sum = 0;
  for (auto shader = 0U; shader <= static_cast<unsigned>(Shader::kStoreLatent); ++shader)
    for (const bool doubles : {false, true}) {
      const auto words = spirv_of(static_cast<Shader>(shader), doubles);
      sum = sum * 31 + word_sum(std::as_bytes(words));
    }
  return sum;
}

}  // namespace foretoken
