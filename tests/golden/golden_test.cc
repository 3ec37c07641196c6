// Logits against Hugging Face transformers, for every architecture and every rotary scaling.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/index.h"
#include "base/threads.h"
#include "batch/commit.h"
#include "checkpoint/checkpoint.h"
#include "golden_case.h"
#include "model/config/context_length.h"
#include "model/decoder/load.h"
#include "model/runner.h"

namespace foretoken::golden_test {
namespace {

using Rows = std::vector<std::vector<float>>;

// What a prompt gave at every position.
struct Outputs {
  Rows logits, layer_1_input, last_hidden;
  bool operator==(const Outputs&) const = default;
};

void append_rows(Rows& rows, const Tensor& x) {
  for (std::int64_t row = 0; row < x.dim(0); ++row)
    rows.emplace_back(x.row_f32(row), x.row_f32(row) + x.dim(1));
}

ModelConfig config_of(const GoldenCase& golden) {
  ModelConfig config = ModelConfig::parse(golden.config, golden.name);
  config.context_length =
      choose_context_length(config, golden.context_length, LongerContext::kRefuse);
  return config;
}

// A prompt computed in chunks of `chunk` rows.
Outputs run_prompt(Ops& ops, const Decoder& decoder, const std::vector<Token>& tokens, int chunk) {
  const int length = static_cast<int>(tokens.size());
  const int pages = pages_for(length);
  Runner runner(ops, decoder, pages);
  SeqTable table(1);
  for (int page = pages - 1; page >= 0; --page) table.pages[0].push_back(page);
  DraftTrees trees(1, 1);
  SamplingParams params;
  Outputs all;
  for (int begin = 0; begin < length; begin += chunk) {
    const int end = std::min(begin + chunk, length);
    const bool is_last = end == length;
    const std::span<const Token> rows = std::span(tokens).subspan(
        static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    StepPlan plan;
    plan.entries.push_back(
        {.slot = 0,
         .chain = is_last ? rows.first(rows.size() - 1) : rows,
         .has_tree = is_last,
         .score_from = 0,
         .after_chain = is_last ? rows.back() : tokens[static_cast<std::size_t>(end)],
         .params = &params});
    trees.plant(0, rows.back());
    Batch batch;
    ops.layout(plan, trees, table, batch);
    const Features features = runner.forward(batch, {.last_hidden = true, .layer_inputs = {1}});
    append_rows(all.layer_1_input, features.taps[0]);
    append_rows(all.last_hidden, features.last_hidden);
    append_rows(all.logits, runner.logits(features, batch));
    commit(table, 0, rows.size(), 0);
  }
  return all;
}

struct Backend {
  std::string device, gemm_order;
};
void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.device; }

Outputs outputs_of(const GoldenCase& golden, const Backend& backend, const ModelConfig& config,
                   DType dtype, int chunk = 1 << 20) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = backend.device, .gemm_order = backend.gemm_order}, pool);
  const auto weights =
      decoder_weights(open_checkpoint(golden.checkpoint, "safetensors", false), config);
  const Decoder decoder(*ops, config, *weights, dtype);
  return run_prompt(*ops, decoder, golden.tokens, chunk);
}

// Largest difference of a row over its largest logit; infinity when anything is not finite.
double relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(found[i])) return INFINITY;
    difference = std::max(difference, std::abs(double{found[i]} - double{expected[i]}));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  return difference / largest;
}

std::vector<double> log_softmax(const std::vector<float>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float x : logits) sum += std::exp(x - largest);
  std::vector<double> out;
  for (const float x : logits) out.push_back(x - largest - std::log(sum));
  return out;
}

double divergence(const std::vector<float>& found, const std::vector<float>& expected) {
  const auto p = log_softmax(expected), q = log_softmax(found);
  double kl = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) kl += std::exp(p[i]) * (p[i] - q[i]);
  return std::isfinite(kl) ? kl : INFINITY;
}

// One measure per known row of `name`.
template <typename Measure>
std::vector<double> by_row(const GoldenCase& golden, const std::string& name, const Rows& found,
                           Measure measure) {
  EXPECT_EQ(found.size(), golden.tokens.size());
  const Rows& known = golden.known.at(name);
  std::vector<double> values;
  for (std::size_t i = 0; i < golden.rows.size(); ++i)
    values.push_back(measure(found[static_cast<std::size_t>(golden.rows[i])], known[i]));
  return values;
}

double worst_error(const GoldenCase& golden, const std::string& name, const Rows& found) {
  return std::ranges::max(by_row(golden, name, found, relative_error));
}

// The mean over the rows; with experts, the median: where two of them score nearly the same,
// rounding decides between them, and that row's result is another one.
double usual_divergence(const GoldenCase& golden, const ModelConfig& config, const Rows& found) {
  auto values = by_row(golden, "logits", found, divergence);
  if (config.experts.routing.experts > 0) {
    std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
    return values[values.size() / 2];
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class Golden : public testing::TestWithParam<std::tuple<Backend, GoldenCase>> {
 protected:
  const Backend& backend() const { return std::get<0>(GetParam()); }
  const GoldenCase& golden() const { return std::get<1>(GetParam()); }
};

TEST_P(Golden, float32_logits_and_features_agree_with_transformers) {
  const Outputs found = outputs_of(golden(), backend(), config_of(golden()), DType::kF32);
  const double worst = worst_error(golden(), "logits", found.logits);
  RecordProperty("worst_relative_error", std::to_string(worst));
  EXPECT_LT(worst, 1e-4);
  if (!golden().known.contains("last_hidden")) return;
  EXPECT_LT(worst_error(golden(), "layer_1_input", found.layer_1_input), 1e-4);
  EXPECT_LT(worst_error(golden(), "last_hidden", found.last_hidden), 1e-4);
}

TEST_P(Golden, half_precision_distributions_agree_with_transformers) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const ModelConfig config = config_of(golden());
    const Outputs found = outputs_of(golden(), backend(), config, dtype);
    const double usual = usual_divergence(golden(), config, found.logits);
    RecordProperty("divergence_" + std::string(dtype_name(dtype)), std::to_string(usual));
    EXPECT_LT(usual, 1e-3) << dtype_name(dtype);
  }
}

TEST_P(Golden, chunks_of_a_prompt_give_the_same_bits) {
  const ModelConfig config = config_of(golden());
  const Outputs whole = outputs_of(golden(), backend(), config, DType::kBF16);
  EXPECT_TRUE(outputs_of(golden(), backend(), config, DType::kBF16, 7) == whole);
}

// The guard of the guard: the prompts are long enough for every feature to show in the logits.
class GoldenFeature : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenFeature, leaving_it_out_shows_in_the_logits) {
  ModelConfig config = config_of(GetParam());
  config.rope = {};
  config.layer_window.clear();
  const Outputs found = outputs_of(GetParam(), {"reference", "auto"}, config, DType::kF32);
  EXPECT_GT(worst_error(GetParam(), "logits", found.logits), 1e-2);
}

// A block of a case that is left out, or is another one.
struct Change {
  const char* what;
  const char* golden;
  void (*change)(ModelConfig& config);
};
constexpr Change kChanges[] = {
    {"layers without rotation", "smollm3_default", [](ModelConfig& c) { c.layer_rope = {}; }},
    {"the other layers rotated", "smollm3_layers_listed",
     [](ModelConfig& c) {
       c.layer_rope = {LayerRope::kMain, LayerRope::kNone, LayerRope::kNone, LayerRope::kMain};
     }},
    {"chunks", "llama4_default", [](ModelConfig& c) { c.layer_chunk = {}; }},
    {"a window in place of chunks", "llama4_default",
     [](ModelConfig& c) { std::swap(c.layer_chunk, c.layer_window); }},
    {"norms of what rotates", "llama4_default", [](ModelConfig& c) { c.norms_rotated = false; }},
    {"growing scores", "llama4_default", [](ModelConfig& c) { c.score_growth = 0; }},
    {"scores that grow by one more", "llama4_towers_default",
     [](ModelConfig& c) { c.score_growth_offset = 0; }},
    {"layers whose scores grow", "llama4_default",
     [](ModelConfig& c) { c.grows_unrotated = false; }},
    {"neighbours in pairs", "llama4_default", [](ModelConfig& c) { c.pairs_neighbours = false; }},
    {"layers without rotation", "llama4_default", [](ModelConfig& c) { c.layer_rope = {}; }},
    {"weights of what experts read", "llama4_default",
     [](ModelConfig& c) { c.experts.weighs_inputs = false; }},
    {"shared expert", "llama4_default", [](ModelConfig& c) { c.experts.shared_intermediate = 0; }},
    {"biases", "llama4_towers_default", [](ModelConfig& c) { c.qkv_bias = false; }},
    {"biases", "seed_oss_default", [](ModelConfig& c) { c.o_bias = c.mlp_bias = false; }},
    {"biases", "ernie4_5_bias_default", [](ModelConfig& c) { c.mlp_bias = false; }},
    {"neighbours in pairs", "ernie4_5_default", [](ModelConfig& c) { c.pairs_neighbours = false; }},
    {"windows", "exaone4_default", [](ModelConfig& c) { c.layer_window = {}; }},
    {"layers without rotation", "exaone4_default", [](ModelConfig& c) { c.layer_rope = {}; }},
    {"norms of heads", "exaone4_default", [](ModelConfig& c) { c.qk_norm = false; }},
    {"biases", "qwen2_5_vl_default", [](ModelConfig& c) { c.qkv_bias = false; }},
    {"norms of heads", "qwen3_vl_default", [](ModelConfig& c) { c.qk_norm = false; }},
    {"weights of experts", "qwen3_vl_moe_default",
     [](ModelConfig& c) { c.experts.routing.normalises = false; }},
    {"norms behind the rotation", "hunyuan_dense_default",
     [](ModelConfig& c) { std::swap(c.qk_norm, c.qk_norm_behind); }},
    {"a larger theta", "hunyuan_dense_alpha", [](ModelConfig& c) { c.rope_theta = 1e4; }},
    {"layer norms", "cohere2_default", [](ModelConfig& c) { c.centres_stream = false; }},
    {"layers without rotation", "cohere2_default", [](ModelConfig& c) { c.layer_rope = {}; }},
    {"logit scale", "cohere_default", [](ModelConfig& c) { c.logit_scale = 1; }},
    {"neighbours in pairs", "cohere_default", [](ModelConfig& c) { c.pairs_neighbours = false; }},
    {"embedding scale", "granite_default", [](ModelConfig& c) { c.embedding_scale = 1; }},
    {"residual scale", "granite_default", [](ModelConfig& c) { c.residual_scale = 1; }},
    {"score scale", "granite_default", [](ModelConfig& c) { c.score_scale = 0; }},
    {"logit scale", "granite_default", [](ModelConfig& c) { c.logit_scale = 1; }},
    {"score cap", "gemma2_default", [](ModelConfig& c) { c.score_cap = 0; }},
    {"logit cap", "gemma2_default", [](ModelConfig& c) { c.logit_cap = 0; }},
    {"score scale", "gemma2_default", [](ModelConfig& c) { c.score_scale = 0; }},
    {"embedding scale", "gemma2_default", [](ModelConfig& c) { c.embedding_scale = 1; }},
    {"norm offset", "gemma2_default", [](ModelConfig& c) { c.norm_offset = 0; }},
    {"norm after attention", "gemma2_default",
     [](ModelConfig& c) { c.norms.after_attention.clear(); }},
    {"norm after MLP", "gemma2_default", [](ModelConfig& c) { c.norms.after_mlp.clear(); }},
    {"activation", "gemma2_default", [](ModelConfig& c) { c.activation = Activation::kSilu; }},
    {"window of every other layer", "gemma2_default",
     [](ModelConfig& c) { c.layer_window = {8, 8, 8}; }},
    {"theta of the layers that slide", "gemma3_default",
     [](ModelConfig& c) { c.local_rope_theta = c.rope_theta; }},
    {"layers that slide rotated as the others", "gemma3_linear_old_style",
     [](ModelConfig& c) { c.layer_rope = {}; }},
    {"theta", "gemma3_linear_old_style", [](ModelConfig& c) { c.rope_theta = 1e4; }},
    {"pattern of windows", "gemma3_default", [](ModelConfig& c) { c.layer_window = {8, 8, 8, 0}; }},
    {"norms of heads", "gemma3_default", [](ModelConfig& c) { c.qk_norm = false; }},
    {"norm offset", "gemma3_default", [](ModelConfig& c) { c.norm_offset = 0; }},
    {"score scale", "gemma3_default", [](ModelConfig& c) { c.score_scale = 0; }},
    {"embedding scale", "gemma3_default", [](ModelConfig& c) { c.embedding_scale = 1; }},
    {"logit cap", "gemma3_linear_old_style", [](ModelConfig& c) { c.logit_cap = 0; }},
    {"activation", "gemma3_towers_default",
     [](ModelConfig& c) { c.activation = Activation::kSilu; }},
    {"norms of q and k", "olmo2_default", [](ModelConfig& c) { c.whole_qk_norm = false; }},
    {"norm after attention", "olmo2_default",
     [](ModelConfig& c) { c.norms.after_attention.clear(); }},
    {"norm after MLP", "olmo2_default", [](ModelConfig& c) { c.norms.after_mlp.clear(); }},
    {"pattern of windows", "olmo3_default", [](ModelConfig& c) { c.layer_window = {8, 8, 8, 8}; }},
    {"layers that slide scaled as the others", "olmo3_yarn",
     [](ModelConfig& c) { c.layer_rope = {}; }},
    {"neighbours in pairs", "glm4_default", [](ModelConfig& c) { c.pairs_neighbours = false; }},
    {"neighbours in pairs", "glm4_whole_heads", [](ModelConfig& c) { c.pairs_neighbours = false; }},
    {"partial rotation", "glm4_default", [](ModelConfig& c) { c.rotary_dim = 0; }},
    {"norm after attention", "glm4_default",
     [](ModelConfig& c) { c.norms.after_attention.clear(); }},
    {"norm after MLP", "glm4_default", [](ModelConfig& c) { c.norms.after_mlp.clear(); }},
    {"scores that grow", "mistral3_growing_scores", [](ModelConfig& c) { c.score_growth = 0; }},
    {"scores that grow", "mistral3_growing_scores",
     [](ModelConfig& c) { c.score_growth_length = 128; }},
    {"partial rotation", "phi3_partial_longrope",
     [](ModelConfig& c) {
       c.rotary_dim = 0;
       c.rope = {};
     }},
    {"partial rotation", "phi3_partial_rotary", [](ModelConfig& c) { c.rotary_dim = 0; }},
    {"experts of a row", "mixtral_default", [](ModelConfig& c) { c.experts.routing.chosen = 1; }},
    {"normalised weights of experts", "mixtral_default",
     [](ModelConfig& c) { c.experts.routing.normalises = false; }},
    {"windows", "mixtral_window", [](ModelConfig& c) { c.layer_window = {}; }},
    {"gate of the shared expert", "qwen2_moe_default",
     [](ModelConfig& c) { c.experts.is_shared_gated = false; }},
    {"weights of experts as they are", "qwen2_moe_default",
     [](ModelConfig& c) { c.experts.routing.normalises = true; }},
    {"pattern of windows", "qwen2_moe_normalised",
     [](ModelConfig& c) { c.layer_window = {8, 8, 0}; }},
    {"weights of experts as they are", "qwen3_moe_plain_weights",
     [](ModelConfig& c) { c.experts.routing.normalises = true; }},
    {"norms of heads", "qwen3_moe_default", [](ModelConfig& c) { c.qk_norm = false; }},
    {"norms of q and k", "olmoe_default", [](ModelConfig& c) { c.whole_qk_norm = false; }},
    {"scores of a router", "glm4_moe_default",
     [](ModelConfig& c) { c.experts.routing.score = RouterScore::kSoftmax; }},
    {"bias of scores", "glm4_moe_default",
     [](ModelConfig& c) { c.experts.has_score_bias = false; }},
    {"groups of experts", "glm4_moe_default",
     [](ModelConfig& c) { c.experts.routing.kept_groups = 4; }},
    {"scores of a group", "glm4_moe_default",
     [](ModelConfig& c) { c.experts.routing.group_tops = 1; }},
    {"scale of experts", "glm4_moe_default", [](ModelConfig& c) { c.experts.routing.scale = 1; }},
    {"sinks", "gpt_oss_default", [](ModelConfig& c) { c.has_sinks = false; }},
    {"biases of experts", "gpt_oss_default", [](ModelConfig& c) { c.experts.has_bias = false; }},
    {"bias of the router", "gpt_oss_default",
     [](ModelConfig& c) { c.experts.has_router_bias = false; }},
    {"activation", "gpt_oss_default", [](ModelConfig& c) { c.activation = Activation::kSilu; }},
    {"pattern of windows", "gpt_oss_layers_listed",
     [](ModelConfig& c) { c.layer_window = {8, 0}; }},
    {"shared experts", "glm4_moe_plain", [](ModelConfig& c) { c.experts.shared_intermediate = 0; }},
    {"neighbours in pairs", "deepseek_v2_default",
     [](ModelConfig& c) { c.latent.pairs_neighbours = false; }},
    {"neighbours in halves", "deepseek_v3_halves",
     [](ModelConfig& c) { c.latent.pairs_neighbours = true; }},
    {"epsilon of latents", "deepseek_v2_default",
     [](ModelConfig& c) { c.latent.norm_eps = c.rms_eps; }},
    {"magnitude of scores", "deepseek_v2_yarn",
     [](ModelConfig& c) { c.rope.mscale = c.rope.mscale_all_dim = {}; }},
    {"magnitude of scores", "deepseek_v3_linear_mscale",
     [](ModelConfig& c) { c.rope.mscale_all_dim = {}; }},
    {"biases of latents", "deepseek_v2_bias_default", [](ModelConfig& c) { c.qkv_bias = false; }},
    {"layers that keep a state", "qwen3_next_default",
     [](ModelConfig& c) { c.recurrent.shape.corrects = false; }},
    {"norms of q and k in them", "qwen3_next_default",
     [](ModelConfig& c) { c.recurrent.shape.normalises_qk = false; }},
    {"silu behind the convolution", "qwen3_next_default",
     [](ModelConfig& c) { c.recurrent.has_silu = false; }},
    {"norms of heads of a state", "qwen3_next_default",
     [](ModelConfig& c) { c.recurrent.norms_heads = false; }},
    {"curve of the gate", "qwen3_5_default",
     [](ModelConfig& c) { c.recurrent.gate_curve = GateCurve::kSigmoid; }},
    {"norm offset", "qwen3_5_default", [](ModelConfig& c) { c.norm_offset = 0; }},
    {"gate of inputs", "lfm2_default", [](ModelConfig& c) { c.recurrent.input_gate = {}; }},
    {"gate", "lfm2_default", [](ModelConfig& c) { c.recurrent.gate = {}; }},
    {"bias of the convolution", "lfm2_bias_default",
     [](ModelConfig& c) { c.recurrent.has_taps_bias = false; }},
    {"values beside the state", "granite_hybrid_default",
     [](ModelConfig& c) { c.recurrent.has_skip = false; }},
    {"norm behind the gate", "granite_hybrid_default",
     [](ModelConfig& c) { c.recurrent.norm_groups = 0; }},
    {"experts of the first layer", "glm4_moe_lite_sparse_default",
     [](ModelConfig& c) { c.experts.routing.chosen = 1; }},
    {"norm of each group", "granite_hybrid_groups_default",
     [](ModelConfig& c) { c.recurrent.norm_groups = 1; }},
    {"keys of a group", "granite_hybrid_groups_default",
     [](ModelConfig& c) { c.recurrent.shape.takes_turns = true; }},
    {"layers without rotation", "granite_hybrid_default",
     [](ModelConfig& c) { c.layer_rope = {}; }},
    {"experts of layers with a state", "qwen3_5_moe_default",
     [](ModelConfig& c) { c.experts.routing.normalises = false; }},
    {"gate of the shared expert", "qwen3_5_moe_default",
     [](ModelConfig& c) { c.experts.is_shared_gated = false; }},
    {"score of experts", "lfm2_moe_default",
     [](ModelConfig& c) { c.experts.routing.score = RouterScore::kSoftmax; }},
    {"bias of scores", "lfm2_moe_default",
     [](ModelConfig& c) { c.experts.has_score_bias = false; }},
    {"scale of experts", "lfm2_moe_default", [](ModelConfig& c) { c.experts.routing.scale = 1; }},
    {"weights of experts", "granite_hybrid_experts_default",
     [](ModelConfig& c) { c.experts.routing.normalises = false; }},
    {"shared expert", "granite_hybrid_experts_default",
     [](ModelConfig& c) { c.experts.shared_intermediate = 0; }},
    {"bounds of dt", "granite_hybrid_bias_default",
     [](ModelConfig& c) { c.recurrent.shape.most_dt = 0; }},
    {"lower bound of dt", "granite_hybrid_bias_least_dt",
     [](ModelConfig& c) { c.recurrent.shape.most_dt = 0; }},
    {"norm of values", "gemma4_unified_default", [](ModelConfig& c) { c.v_norm = false; }},
    {"score scale", "gemma4_unified_default", [](ModelConfig& c) { c.score_scale = 0; }},
    {"scale of the stream behind a layer", "gemma4_unified_default",
     [](ModelConfig& c) { c.has_layer_scale = false; }},
    {"pairs that rotate", "gemma4_unified_default", [](ModelConfig& c) { c.rope.share = 1; }},
    {"norms of heads", "gemma4_unified_default", [](ModelConfig& c) { c.qk_norm = false; }},
    {"logit cap", "gemma4_unified_default", [](ModelConfig& c) { c.logit_cap = 0; }},
    {"theta of the layers that slide", "gemma4_default",
     [](ModelConfig& c) { c.local_rope_theta = c.rope_theta; }},
    {"pattern of windows", "gemma4_default", [](ModelConfig& c) { c.layer_window.assign(6, 8); }},
    {"inputs by layer", "gemma4_default", [](ModelConfig& c) { c.inputs = {}; }},
    {"scales of experts", "gemma4_experts_default",
     [](ModelConfig& c) { c.experts.has_expert_scales = false; }},
    {"experts of a row", "gemma4_experts_default",
     [](ModelConfig& c) { c.experts.routing.chosen = 1; }},
    {"the other norm of experts", "gemma4_experts_default",
     [](ModelConfig& c) { c.experts.beside.before = "pre_feedforward_layernorm"; }},
    {"the MLP beside experts", "gemma4_experts_default", [](ModelConfig& c) { c.experts = {}; }},
};

TEST(GoldenBlocks, each_value_shows_in_the_logits) {
  const auto cases = read_golden_cases();
  for (const Change& change : kChanges) {
    const auto golden = std::ranges::find(cases, change.golden, &GoldenCase::name);
    ASSERT_NE(golden, cases.end()) << change.golden;
    ModelConfig config = config_of(*golden);
    change.change(config);
    const Outputs found = outputs_of(*golden, {"reference", "auto"}, config, DType::kF32);
    EXPECT_GT(worst_error(*golden, "logits", found.logits), 1e-2)
        << change.what << " of " << change.golden;
  }
}

std::vector<GoldenCase> cases_with_scaling_or_windows() {
  auto cases = read_golden_cases();
  std::erase_if(cases, [](const GoldenCase& golden) {
    const ModelConfig config = config_of(golden);
    const bool is_unscaled = config.rope.kind == RopeScaling::Kind::kNone ||
                             (config.rope.kind == RopeScaling::Kind::kDynamic &&
                              config.context_length <= config.max_position);
    return is_unscaled && std::ranges::all_of(config.layer_window, [](int w) { return w == 0; });
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenFeature, testing::ValuesIn(cases_with_scaling_or_windows()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Cases, Golden,
                         testing::Combine(testing::Values(Backend{"reference", "auto"},
                                                          Backend{"cpu", "tile"},
                                                          Backend{"cpu", "pair"}),
                                          testing::ValuesIn(read_golden_cases())),
                         [](const auto& info) {
                           const Backend& backend = std::get<0>(info.param);
                           return backend.device + "_" + backend.gemm_order + "_" +
                                  std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace foretoken::golden_test
