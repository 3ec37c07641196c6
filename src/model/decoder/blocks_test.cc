// Layers of every arrangement of norms, scales and stored matrices against plain formulas. The text
// is one token: it sees itself only, so attention gives its value and no rotation shows.

#include "model/config/blocks.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/float_view.h"
#include "base/index.h"
#include "model/runner.h"

namespace foretoken {
namespace {

using Values = std::vector<float>;

constexpr Token kToken = 5;

struct Arrangement {
  const char* name;
  Blocks blocks;
};
void PrintTo(const Arrangement& arrangement, std::ostream* out) { *out << arrangement.name; }

const LayerNorms kSandwich{.before_attention = "in",
                           .after_attention = "after_attention",
                           .before_mlp = "before_mlp",
                           .after_mlp = "after_mlp"};
const LayerNorms kBehind{.before_attention = {},
                         .after_attention = "after_attention",
                         .before_mlp = {},
                         .after_mlp = "after_mlp"};
const LayerNorms kShared{.before_mlp = {}};

std::vector<Arrangement> arrangements() {
  return {{"usual", {}},
          {"sandwich", {.norms = kSandwich}},
          {"norms_behind_only", {.norms = kBehind}},
          {"parallel", {.norms = kShared, .is_parallel = true}},
          {"fused", {.is_qkv_fused = true, .is_gate_up_fused = true}},
          {"fused_with_biases",
           {.qkv_bias = true,
            .o_bias = true,
            .is_qkv_fused = true,
            .mlp_bias = true,
            .is_gate_up_fused = true}},
          {"sinks", {.has_sinks = true}},
          {"gelu", {.activation = Activation::kGelu}},
          {"scales",
           {.norm_offset = 1,
            .embedding_scale = 60.1,
            .residual_scale = 0.3F,
            .logit_scale = 0.25F,
            .logit_cap = 0.5F}},
          {"rounded_embedding_scale",
           {.norms = kBehind, .embedding_scale = 60.1, .rounds_embedding_scale = true}},
          {"all",
           {.qkv_bias = true,
            .is_qkv_fused = true,
            .has_sinks = true,
            .activation = Activation::kGeluTanh,
            .norms = kSandwich,
            .norm_offset = 1,
            .embedding_scale = 3,
            .residual_scale = 0.5F}}};
}

ModelConfig config_of(const Blocks& blocks) {
  ModelConfig config;
  static_cast<Blocks&>(config) = blocks;
  config.layers = 2;
  config.hidden = 24;
  config.intermediate = 40;
  config.heads = config.kv_heads = 2;
  config.head_dim = 8;
  config.vocab = 50;
  config.max_position = config.context_length = 64;
  return config;
}

// The formulas, over the same weights.
class Formulas {
 public:
  Formulas(const ModelConfig& config, const WeightSource& weights)
      : c_(config), weights_(weights) {}

  Values logits() const {
    Values x = rows_of("model.embed_tokens", c_.vocab, c_.hidden, kToken, 1);
    for (float& value : x) value *= static_cast<float>(c_.embedding_scale);
    for (int layer = 0; layer < c_.layers; ++layer)
      add_layer("model.layers." + std::to_string(layer) + ".", x);
    Values out = times("lm_head", c_.vocab, normed("model.norm", x), false);
    for (float& value : out) {
      value *= c_.logit_scale;
      if (c_.logit_cap > 0) value = c_.logit_cap * std::tanh(value / c_.logit_cap);
    }
    return out;
  }

 private:
  void add_layer(const std::string& prefix, Values& x) const {
    const auto norm = [&](const std::string& name, const Values& values) {
      return name.empty() ? values : normed(prefix + name, values);
    };
    const auto add = [&](const std::string& name, const Values& made) {
      const Values through = norm(name, made);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += through[i] * c_.residual_scale;
    };
    const Values in = norm(c_.norms.before_attention, x);
    add(c_.norms.after_attention, attention(prefix + "self_attn.", in));
    const Values mlp_in = c_.is_parallel ? in : norm(c_.norms.before_mlp, x);
    add(c_.norms.after_mlp, mlp(prefix + "mlp.", mlp_in));
  }

  Values attention(const std::string& name, const Values& x) const {
    const int width = c_.heads * c_.head_dim;
    const bool fused = c_.is_qkv_fused;
    const auto part = [&](const char* own, int number) {
      return fused
                 ? slice(times(name + "qkv_proj", 3 * width, x, c_.qkv_bias), number * width, width)
                 : times(name + own, width, x, c_.qkv_bias);
    };
    const Values q = part("q_proj", 0), k = part("k_proj", 1);
    Values v = part("v_proj", 2);
    if (c_.has_sinks) {
      const Values sinks = rows_of(name + "sinks", c_.heads, 0, 0, 1, "");
      for (int h = 0; h < c_.heads; ++h) {
        double score = 0;
        for (int d = h * c_.head_dim; d < (h + 1) * c_.head_dim; ++d) score += q[at(d)] * k[at(d)];
        score /= std::sqrt(c_.head_dim);
        const double share = 1 / (1 + std::exp(sinks[at(h)] - score));
        for (int d = h * c_.head_dim; d < (h + 1) * c_.head_dim; ++d)
          v[at(d)] *= static_cast<float>(share);
      }
    }
    return times(name + "o_proj", c_.hidden, v, c_.o_bias);
  }

  Values mlp(const std::string& name, const Values& x) const {
    const int width = c_.intermediate;
    const bool fused = c_.is_gate_up_fused;
    const auto part = [&](const char* own, int number) {
      return fused ? slice(times(name + "gate_up_proj", 2 * width, x, c_.mlp_bias), number * width,
                           width)
                   : times(name + own, width, x, c_.mlp_bias);
    };
    Values gate = part("gate_proj", 0);
    const Values up = part("up_proj", 1);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = act(gate[i]) * up[i];
    return times(name + "down_proj", c_.hidden, gate, c_.mlp_bias);
  }

  float act(float x) const {
    if (c_.activation == Activation::kSilu) return x / (1 + std::exp(-x));
    if (c_.activation == Activation::kGelu) return 0.5F * x * (1 + std::erf(x / std::sqrt(2.0F)));
    return 0.5F * x * (1 + std::tanh(0.7978846F * (x + 0.044715F * x * x * x)));
  }

  Values normed(const std::string& name, const Values& x) const {
    const auto width = static_cast<std::int64_t>(x.size());
    const Values weight = rows_of(name, width, 0, 0, 1);
    double squares = 0;
    for (const float value : x) squares += double{value} * value;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + c_.rms_eps);
    Values out;
    for (std::size_t i = 0; i < x.size(); ++i)
      out.push_back(static_cast<float>(x[i] * scale * (weight[i] + c_.norm_offset)));
    return out;
  }

  Values times(const std::string& name, std::int64_t rows, const Values& x, bool has_bias) const {
    const auto width = static_cast<std::int64_t>(x.size());
    const Values w = rows_of(name, rows, width, 0, rows);
    Values out(at(rows));
    if (has_bias) out = rows_of(name, rows, 0, 0, 1, ".bias");
    for (std::int64_t n = 0; n < rows; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < width; ++k) sum += double{w[at(n * width + k)]} * x[at(k)];
      out[at(n)] += static_cast<float>(sum);
    }
    return out;
  }

  // `count` rows of a matrix [rows, width], or the vector [rows] where width is 0.
  Values rows_of(const std::string& name, std::int64_t rows, std::int64_t width, std::int64_t first,
                 std::int64_t count, const char* suffix = ".weight") const {
    const Tensor all = *weights_.find(name + suffix, width > 0 ? Shape{rows, width} : Shape{rows});
    const std::int64_t elements = width > 0 ? count * width : rows;
    Values values;
    for (std::int64_t i = first * width; i < first * width + elements; ++i)
      values.push_back(load_float(all.data(), all.dtype(), i));
    return values;
  }

  static Values slice(const Values& all, int first, int count) {
    return {all.begin() + first, all.begin() + first + count};
  }

  const ModelConfig& c_;
  const WeightSource& weights_;
};

// Logits of the token, behind the tail of the last layer or with all that leaves it.
Values computed(const std::string& device, const ModelConfig& config, bool reads_all,
                DType dtype = DType::kF32) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = device}, pool);
  const auto weights = dummy_weights(3);
  const Decoder decoder(*ops, config, *weights, dtype);
  Runner runner(*ops, decoder, 1);
  DraftTrees trees(1, 4);
  SeqTable table(1);
  table.pages[0] = {0};
  trees.plant(0, kToken);
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true});
  Batch batch;
  ops->layout(plan, trees, table, batch);
  const Features features = runner.forward(batch, {.last_hidden = reads_all, .layer_inputs = {}});
  const Tensor logits = runner.logits(features, batch);
  return {logits.f32(), logits.f32() + logits.elements()};
}

class DecoderBlocks : public testing::TestWithParam<Arrangement> {};

TEST_P(DecoderBlocks, are_what_their_formulas_say) {
  const ModelConfig config = config_of(GetParam().blocks);
  const auto weights = dummy_weights(3);
  const Values expected = Formulas(config, *weights).logits();
  double largest = 0;
  for (const float value : expected) largest = std::max<double>(largest, std::abs(value));
  for (const char* device : {"reference", "cpu"})
    for (const bool reads_all : {false, true}) {
      const Values found = computed(device, config, reads_all);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-5 * largest) << device << ", token " << i;
    }
}

// So that a value which is not read would be seen.
TEST_P(DecoderBlocks, differ_from_the_usual_ones) {
  const auto weights = dummy_weights(3);
  const ModelConfig usual = config_of({}), config = config_of(GetParam().blocks);
  if (GetParam().name == std::string("usual")) return;
  EXPECT_NE(Formulas(config, *weights).logits(), Formulas(usual, *weights).logits());
}

// 2.007 is 2 in bf16. Nothing norms what comes in, so that the scale counts as it is.
TEST(EmbeddingScale, is_rounded_to_what_is_served_where_a_family_does_so) {
  const auto logits = [](double scale, bool is_rounded) {
    const ModelConfig config = config_of(
        {.norms = kBehind, .embedding_scale = scale, .rounds_embedding_scale = is_rounded});
    return computed("cpu", config, false, DType::kBF16);
  };
  EXPECT_EQ(logits(2.007, true), logits(2, false));
  EXPECT_NE(logits(2.007, false), logits(2, false));
}

INSTANTIATE_TEST_SUITE_P(Arrangements, DecoderBlocks, testing::ValuesIn(arrangements()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DecoderTails, a_prompt_that_ends_early_has_the_bits_of_the_whole) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "cpu"}, pool);
  for (const LayerNorms& norms : {kShared, kBehind, kSandwich}) {
    const ModelConfig config =
        config_of({.norms = norms,
                   .is_parallel = norms.before_mlp.empty() && !norms.before_attention.empty()});
    const Decoder decoder(*ops, config, *dummy_weights(3), DType::kBF16);
    std::vector<Values> found;
    for (const bool reads_all : {false, true}) {
      Runner runner(*ops, decoder, 3);
      DraftTrees trees(1, 4);
      SeqTable table(1);
      table.pages[0] = {2, 0, 1};
      trees.plant(0, kToken);
      std::vector<Token> text(40);
      std::iota(text.begin(), text.end(), 3);
      StepPlan plan;
      plan.entries.push_back({.slot = 0, .chain = text, .has_tree = true});
      Batch batch;
      ops->layout(plan, trees, table, batch);
      const Features features =
          runner.forward(batch, {.last_hidden = reads_all, .layer_inputs = {}});
      EXPECT_EQ(features.last_hidden.dim(0) == batch.rows, reads_all);
      const Tensor logits = runner.logits(features, batch);
      found.emplace_back(logits.f32(), logits.f32() + logits.elements());
    }
    EXPECT_EQ(found[0], found[1]);
  }
}

}  // namespace
}  // namespace foretoken
