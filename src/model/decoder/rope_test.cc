#include "model/decoder/rope.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "model/config/context_length.h"
#include "model/testing/rope_table_kit.h"

namespace foretoken {
namespace {

using Kind = RopeScaling::Kind;

ModelConfig config_of(Kind kind) {
  ModelConfig config;
  config.head_dim = 64;
  config.rope_theta = 10000.0;
  config.max_position = 4096;
  config.context_length = 4096;
  config.rope.kind = kind;
  config.rope.factor = 4.0;
  return config;
}

TEST(SinCos, agrees_with_libm_to_the_last_bits) {
  for (int i = 0; i < 1000000; ++i) {
    const double angle = i * 1.048576 + 1e-3 * (i % 777);
    const SinCos found = sin_cos(angle);
    ASSERT_NEAR(found.sin, std::sin(angle), 3e-16) << angle;
    ASSERT_NEAR(found.cos, std::cos(angle), 3e-16) << angle;
  }
}

TEST(Rope, plain_frequencies_are_powers_of_the_base) {
  const auto plain = rope_frequencies(config_of(Kind::kNone));
  ASSERT_EQ(plain.inverse.size(), 32U);
  EXPECT_EQ(plain.inverse[0], 1.0F);
  EXPECT_FLOAT_EQ(plain.inverse[16], 0.01F);
  EXPECT_EQ(plain.attention_factor, 1.0F);
}

TEST(Rope, linear_scaling_divides_every_frequency) {
  const auto plain = rope_frequencies(config_of(Kind::kNone));
  const auto linear = rope_frequencies(config_of(Kind::kLinear));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_FLOAT_EQ(linear.inverse[i], plain.inverse[i] / 4.0F);
}

TEST(Rope, dynamic_scaling_starts_beyond_the_trained_length) {
  const auto plain = rope_frequencies(config_of(Kind::kNone));
  ModelConfig config = config_of(Kind::kDynamic);
  config.context_length = 1000;
  EXPECT_EQ(rope_frequencies(config).inverse, plain.inverse);
  config.context_length = 8192;  // base grows by (4 * 2 - 3) ^ (64 / 62)
  const auto scaled = rope_frequencies(config);
  EXPECT_EQ(scaled.inverse[0], 1.0F);
  EXPECT_NEAR(scaled.inverse[31] / plain.inverse[31], 1.0 / 5.0, 1e-3);
}

TEST(Rope, llama3_scaling_keeps_short_wavelengths_and_stretches_long_ones) {
  const auto plain = rope_frequencies(config_of(Kind::kNone));
  ModelConfig config = config_of(Kind::kLlama3);
  config.rope.original_max_position = 1024;
  const auto scaled = rope_frequencies(config);
  for (std::size_t i = 0; i < 32; ++i) {
    const double wavelength = 2.0 * std::numbers::pi / plain.inverse[i];
    const double ratio = plain.inverse[i] / scaled.inverse[i];
    if (wavelength < 1024.0 / 4.0) {
      EXPECT_EQ(ratio, 1.0);
    } else if (wavelength > 1024.0) {
      EXPECT_NEAR(ratio, 4.0, 1e-6);
    } else {
      EXPECT_GE(ratio, 1.0);
      EXPECT_LE(ratio, 4.0);
    }
  }
}

TEST(Rope, yarn_scales_attention_by_the_logarithm_of_the_factor) {
  ModelConfig config = config_of(Kind::kYarn);
  EXPECT_FLOAT_EQ(rope_frequencies(config).attention_factor,
                  static_cast<float>(0.1 * std::log(4.0) + 1.0));
  config.rope.attention_factor = 0.5;
  EXPECT_EQ(rope_frequencies(config).attention_factor, 0.5F);
}

TEST(Rope, longrope_takes_its_long_factors_beyond_the_original_length) {
  ModelConfig config = config_of(Kind::kLongRope);
  config.rope.short_factor.assign(32, 1.0);
  config.rope.long_factor.assign(32, 8.0);
  config.rope.original_max_position = 1024;
  config.context_length = 1024;
  EXPECT_EQ(rope_frequencies(config).inverse[0], 1.0F);
  config.context_length = 1025;
  EXPECT_EQ(rope_frequencies(config).inverse[0], 0.125F);
  EXPECT_FLOAT_EQ(rope_frequencies(config).attention_factor,
                  static_cast<float>(std::sqrt(1.0 + std::log(4.0) / std::log(1024.0))));
}

// What a server is started with decides, not how long a text is.
TEST(Rope, longrope_goes_by_the_context_length_that_is_asked_for) {
  ModelConfig config = ModelConfig::parse(
      R"({"architectures": ["Phi3ForCausalLM"], "hidden_size": 8, "num_attention_heads": 2,
          "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 8,
          "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
          "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.0],
                           "long_factor": [8.0, 8.0]}})",
      "config.json");
  const auto first_of = [&](std::optional<std::int64_t> asked) {
    config.context_length = choose_context_length(config, asked, LongerContext::kRefuse);
    return rope_frequencies(config).inverse[0];
  };
  EXPECT_EQ(first_of({}), 0.125F);
  EXPECT_EQ(first_of(4097), 0.125F);
  EXPECT_EQ(first_of(4096), 1.0F);
  EXPECT_EQ(first_of(100), 1.0F);
}

TEST(Rope, the_table_covers_the_context_and_a_tree_beyond_it) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelConfig config = config_of(Kind::kNone);
  config.context_length = 100;
  const RopeTable table = whole_rope_table(*ops, config);
  expect(table.cos, {100 + kMaxTreeNodes, 32}, DType::kF32);
  EXPECT_EQ(table.rotary_dim, 64);
  for (const int position : {0, 1, 99, 163}) {
    EXPECT_FLOAT_EQ(table.cos.row_f32(position)[0], static_cast<float>(std::cos(position)));
    EXPECT_FLOAT_EQ(table.sin.row_f32(position)[0], static_cast<float>(std::sin(position)));
  }
}

TEST(Rope, rows_are_written_when_a_position_is_needed) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelConfig config = config_of(Kind::kNone);
  config.layers = 1;
  config.context_length = 2000;
  const RopeTable whole = whole_rope_table(*ops, config);
  RopeTables tables(*ops, config);
  const RopeTable& table = tables.of(LayerRope::kMain);
  const auto reach = [&](std::vector<std::int32_t> positions) {
    Batch batch;
    batch.position = std::move(positions);
    tables.reach(batch);
  };
  const auto is_written = [&](std::int64_t position) {
    const auto bytes = static_cast<std::size_t>(table.pairs()) * sizeof(float);
    return std::memcmp(table.cos.row_f32(position), whole.cos.row_f32(position), bytes) == 0 &&
           std::memcmp(table.sin.row_f32(position), whole.sin.row_f32(position), bytes) == 0;
  };
  reach({});
  EXPECT_FALSE(is_written(0));
  reach({3, 700, 5});
  EXPECT_TRUE(is_written(0));
  EXPECT_TRUE(is_written(700));
  EXPECT_FALSE(is_written(1999));
  reach({1999 + kMaxTreeNodes});
  EXPECT_TRUE(is_written(1500));
  EXPECT_TRUE(is_written(1999 + kMaxTreeNodes));
  EXPECT_DEATH(reach({2000 + kMaxTreeNodes}), "position 2064 of 2064");
}

TEST(Rope, layers_have_the_tables_that_they_use) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelConfig config = config_of(Kind::kLinear);
  config.layers = 1;
  config.context_length = 10;
  config.local_rope_theta = 100.0;
  const auto first_of = [](const RopeTable& table) { return table.sin.row_f32(5)[1]; };
  const RopeTables usual = reached_rope_tables(*ops, config, 9);
  EXPECT_TRUE(usual.of(LayerRope::kLocal).cos.empty());
  EXPECT_EQ(usual.of(LayerRope::kNone).rotary_dim, 0);
  config.layers = 3;
  config.layer_rope = {LayerRope::kMain, LayerRope::kLocal, LayerRope::kNone};
  const RopeTables both = reached_rope_tables(*ops, config, 9);
  EXPECT_EQ(first_of(both.of(LayerRope::kMain)), first_of(usual.of(LayerRope::kMain)));
  ModelConfig local = config_of(Kind::kNone);
  local.context_length = 10;
  local.rope_theta = 100.0;
  EXPECT_EQ(first_of(both.of(LayerRope::kLocal)), first_of(whole_rope_table(*ops, local)));
  EXPECT_NE(first_of(both.of(LayerRope::kMain)), first_of(both.of(LayerRope::kLocal)));
}

TEST(Rope, tables_are_of_the_heads_that_their_layers_have) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelConfig config = config_of(Kind::kProportional);
  config.layers = 2;
  config.context_length = 10;
  config.local_rope_theta = 100.0;
  config.layer_rope = {LayerRope::kLocal, LayerRope::kMain};
  config.layer_heads = {{1, 16}, {1, 48}};
  config.rope.share = 0.3;
  config.rope.factor = 2.0;
  const RopeTables tables = reached_rope_tables(*ops, config, 9);
  const RopeTable& main = tables.of(LayerRope::kMain);
  const RopeTable& local = tables.of(LayerRope::kLocal);
  EXPECT_EQ(local.rotary_dim, 16);
  EXPECT_EQ(local.pairs(), 8);
  EXPECT_EQ(main.rotary_dim, 48);
  EXPECT_EQ(main.pairs(), 7) << "0.3 of 24, rounded down";
  const double wavelength = std::pow(config.rope_theta, 2.0 / 48);
  EXPECT_NEAR(main.sin.row_f32(1)[1], std::sin(1 / wavelength / 2), 1e-6);
}

TEST(Rope, a_part_of_each_head_may_be_rotated) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  ModelConfig config = config_of(Kind::kNone);
  config.context_length = 10;
  config.rotary_dim = 16;
  const RopeTable table = whole_rope_table(*ops, config);
  EXPECT_EQ(table.rotary_dim, 16);
  EXPECT_EQ(table.cos.dim(1), 8);
  config.head_dim = 16;
  config.rotary_dim = 0;
  EXPECT_EQ(table.cos.row_f32(7)[3], whole_rope_table(*ops, config).cos.row_f32(7)[3]);
}

}  // namespace
}  // namespace foretoken
