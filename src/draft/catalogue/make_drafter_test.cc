// Which draft model the options mean, and how wrong ones are refused.
#include "draft/catalogue/make_drafter.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/serialize.hpp>

#include "backend/backend.h"
#include "backend/testing/delegate_test_kit.h"
#include "backend/testing/pack_watch_test_kit.h"
#include "base/error.h"
#include "base/file.h"
#include "base/index.h"
#include "base/json_text.h"
#include "base/testing/test_folder.h"
#include "base/threads.h"
#include "draft/catalogue/plan_drafts.h"
#include "draft/from_text/ngram/corpora.h"
#include "draft/from_text/ngram/ngram_options.h"

namespace foretoken {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Lt;

const std::string kGolden = FORETOKEN_SOURCE_DIR "/tests/golden/drafts/";

// Sums up what weights and tables take of the backend.
class Weighing final : public Delegate {
 public:
  using Delegate::Delegate;
  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    auto packed = Delegate::pack(parts);
    taken += packed->bytes();
    return packed;
  }
  Tensor keep_rows(Tensor matrix, DType dtype) override {
    const Tensor rows = Delegate::keep_rows(matrix, dtype);
    taken += rows.bytes();
    return rows;
  }
  Tensor alloc(DType dtype, Shape shape) override {
    const Tensor made = Delegate::alloc(dtype, shape);
    taken += made.bytes();
    return made;
  }
  std::size_t taken = 0;
};

class MakeDrafter : public testing::Test {
 protected:
  MakeDrafter()
      : pool_(1, false),
        ops_(std::make_unique<Weighing>(
            make_backend({.device = "cpu", .cpu_isa = "auto", .gemm_order = "auto"}, pool_))) {}

  static ModelOptions quiet() {
    ModelOptions load;
    load.show_progress = false;
    return load;
  }

  std::unique_ptr<DraftModel> load(DraftOptions options, const std::string& target = "llama") {
    options.target_folder = kGolden + "targets/" + target;
    options.load.show_progress = false;
    target_ = load_model(*ops_, options.target_folder, quiet());
    ops_->taken = 0;
    return load_draft_model(*ops_, *target_,
                            set_up_drafts(options, target_->config().architecture));
  }

  std::string fault(const DraftOptions& options, const std::string& target = "llama") {
    try {
      load(options, target);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  static DraftOptions with(const std::string& algorithm, const std::string& head) {
    DraftOptions options;
    options.algorithm = algorithm;
    if (!head.empty()) options.folder = kGolden + head;
    return options;
  }

  ThreadPool pool_;
  std::unique_ptr<Weighing> ops_;
  std::unique_ptr<Decoder> target_;
};

TEST_F(MakeDrafter, nothing_is_loaded_where_nothing_is_drafted) { EXPECT_FALSE(load({})); }

TEST_F(MakeDrafter, each_algorithm_reads_what_it_needs_of_the_target) {
  EXPECT_EQ(load(with("STANDALONE", "targets/llama"))->feature_width(), 0);
  EXPECT_TRUE(load(with("EAGLE", "heads/eagle"))->taps().last_hidden);
  EXPECT_EQ(load(with("EAGLE3", "heads/eagle3"))->taps().layer_inputs.size(), 3U);
  EXPECT_TRUE(load(with("EAGLE", ""), "mimo")->taps().last_hidden);
  EXPECT_TRUE(load(with("EAGLE", "targets/nextn"), "nextn")->taps().last_hidden);
  EXPECT_TRUE(load(with("EAGLE", "targets/mimo"), "llama")->taps().last_hidden);
}

TEST_F(MakeDrafter, heads_of_the_target_draft_unasked_whether_its_config_names_them_or_not) {
  EXPECT_EQ(unasked_algorithms(kGolden + "targets/llama"), "SUFFIX");
  for (const char* target : {"mimo", "nextn_chain", "states_mtp", "states_experts_mtp"})
    EXPECT_THAT(unasked_algorithms(kGolden + "targets/" + target), HasSubstr("EAGLE")) << target;
}

TEST_F(MakeDrafter, a_wrong_draft_model_is_refused_by_its_config_alone) {
  const ModelConfig target = read_model_config(kGolden + "targets/llama", {});
  const auto refusal = [&](const DraftOptions& options) -> std::string {
    try {
      check_draft_models(options, target);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal(with("STANDALONE", "targets/llama")), "");
  EXPECT_EQ(refusal(with("EAGLE", "heads/eagle")), "");
  EXPECT_EQ(refusal(with("EAGLE3+NGRAM", "heads/eagle3")), "");
  EXPECT_EQ(refusal(with("EAGLE", "")), "");  // in the target's checkpoint
  EXPECT_THAT(refusal(with("EAGLE3", "heads/eagle")), HasSubstr("not an EAGLE-3 head"));
  EXPECT_THAT(refusal(with("EAGLE", "heads/eagle3")), HasSubstr("is an EAGLE-3 head"));
  EXPECT_THAT(refusal(with("STANDALONE", "targets/none")), HasSubstr("no such model"));
  EXPECT_THAT(refusal(with("STANDALONE", "")), HasSubstr("needs a draft model"));
}

TEST_F(MakeDrafter, a_checkpoint_has_to_be_quantized_as_the_flag_of_draft_models_says) {
  for (const auto& [algorithm, head] :
       {std::pair{"STANDALONE", "targets/llama"}, std::pair{"EAGLE", "heads/eagle"},
        std::pair{"EAGLE3", "heads/eagle3"}}) {
    DraftOptions options = with(algorithm, head);
    options.load.part = "draft";
    options.load.quantization = quantization_named("awq", false, "test");
    EXPECT_THAT(fault(options),
                HasSubstr("not quantized as --speculative-draft-model-quantization says"))
        << algorithm;
  }
}

// The last one multiplies with the embedding of a target that only looks it up, so it has a copy.
TEST_F(MakeDrafter, every_byte_of_a_draft_model_is_counted) {
  for (const auto& [algorithm, head] :
       {std::pair{"STANDALONE", "targets/qwen3"}, std::pair{"STANDALONE", "targets/llama"},
        std::pair{"EAGLE", "heads/eagle"}, std::pair{"EAGLE3", "heads/eagle3"},
        std::pair{"EAGLE3", "heads/eagle3_last_hidden_tied"},
        std::pair{"EAGLE", "targets/nextn_chain"}}) {
    const auto model = load(with(algorithm, head));
    ASSERT_TRUE(model) << head;
    EXPECT_EQ(model->weight_bytes(), ops_->taken) << head;
  }
}

TEST_F(MakeDrafter, packed_weights_of_every_kind_of_draft_model_are_kept) {
  const TestFolder folder;
  PackWatch watch(make_backend({.device = "cpu"}, pool_));
  for (const auto& [algorithm, head, target] :
       {std::tuple{"STANDALONE", "targets/qwen3", "llama"},
        std::tuple{"EAGLE", "heads/eagle", "llama"},
        std::tuple{"EAGLE", "heads/eagle_prefixed_two_layers", "llama"},
        std::tuple{"EAGLE3", "heads/eagle3", "llama"}, std::tuple{"EAGLE", "", "mimo"},
        std::tuple{"EAGLE", "", "nextn_chain"}, std::tuple{"EAGLE", "targets/mimo", "llama"}}) {
    DraftOptions options = with(algorithm, head);
    options.target_folder = kGolden + "targets/" + target;
    options.load = quiet();
    options.load.part = "draft";
    const auto decoder = load_model(watch, options.target_folder, quiet());
    watch.seen();
    const auto load = [&](const std::string& cache) {
      options.load.packed_cache = cache;
      load_draft_model(watch, *decoder, set_up_drafts(options, decoder->config().architecture));
      return watch.seen();
    };
    const auto plain = load({}), first = load(folder.path()), second = load(folder.path());
    std::filesystem::remove_all(folder.path());  // two of them load the same heads
    EXPECT_GT(plain.packed, 0) << head;
    EXPECT_EQ(first.packed, plain.packed) << head;
    EXPECT_EQ(first.images, plain.images) << head;
    EXPECT_EQ(second.packed, 0) << head;
    EXPECT_EQ(second.images, plain.images) << head;
  }
}

// A copy of a golden head with more tensors, of one number each.
class HeadWith {
 public:
  HeadWith(const std::string& head, const std::vector<std::string>& tensors) {
    std::filesystem::copy(kGolden + head, folder_.path());
    const std::string bytes = *read_file(folder_.file("model.safetensors"));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string header, data = bytes.substr(sizeof length + length);
    for (const std::string& name : tensors) {
      header += fmt::format(R"("{}":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}},)", name,
                            data.size(), data.size() + sizeof(float));
      data += std::string(sizeof(float), '\0');
    }
    header = "{" + header + bytes.substr(sizeof length + 1, length - 1);
    header.resize(round_up<std::size_t>(header.size(), 8), ' ');
    length = header.size();
    folder_.write(
        "model.safetensors",
        std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data);
  }
  const std::string& folder() const { return folder_.path(); }

 private:
  TestFolder folder_;
};

TEST_F(MakeDrafter, what_a_head_stores_in_vain_is_named) {
  const auto log_of = [&](const std::string& algorithm, const std::string& head,
                          const std::vector<std::string>& tensors) {
    const HeadWith with_more(head, tensors);
    DraftOptions options = with(algorithm, "");
    options.folder = with_more.folder();
    testing::internal::CaptureStderr();
    load(options);
    return testing::internal::GetCapturedStderr();
  };
  const std::string eagle3 =
      log_of("EAGLE3", "heads/eagle3", {"layers.1.mlp.up_proj.weight", "other_norm.weight"});
  EXPECT_THAT(eagle3, HasSubstr("2 tensors of the checkpoint are not used by this model: "
                                "layers.1.mlp.up_proj.weight, other_norm.weight"));
  const std::string eagle =
      log_of("EAGLE", "heads/eagle",
             {"lm_head.weight", "layers.0.input_layernorm.weight", "t2d", "other_norm.weight"});
  EXPECT_THAT(eagle, HasSubstr("1 tensors of the checkpoint are not used by this model: "
                               "other_norm.weight"));
  // A head that lies in a target's checkpoint has others beside it.
  testing::internal::CaptureStderr();
  load(with("EAGLE", "targets/mimo"), "llama");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("not used")));
}

// As after copying the target's config: other layers, no vocabulary of its own, biases.
TEST_F(MakeDrafter, a_head_is_what_is_stored_whatever_its_config_says) {
  const HeadWith copied("heads/eagle3", {});
  const std::string path = copied.folder() + "/config.json";
  boost::json::object config = *read_json_file(path);
  config["num_hidden_layers"] = 36;
  config["attention_bias"] = true;
  config.erase("draft_vocab_size");
  std::ofstream(path) << boost::json::serialize(config);
  DraftOptions options = with("EAGLE3", "");
  options.folder = copied.folder();
  options.window = 8;
  const auto head = load(options);
  EXPECT_EQ(head->kv_shape().layers, 1);
  EXPECT_EQ(head->logit_width(), 24);
  EXPECT_EQ(head->weight_bytes(), ops_->taken);
}

TEST_F(MakeDrafter, no_golden_head_stores_anything_in_vain) {
  for (const auto& [algorithm, head] :
       {std::pair{"EAGLE", "heads/eagle"}, std::pair{"EAGLE", "heads/eagle_frspec"},
        std::pair{"EAGLE3", "heads/eagle3"}, std::pair{"EAGLE3", "heads/eagle3_flags"},
        std::pair{"EAGLE3", "heads/eagle3_last_hidden_tied"},
        std::pair{"EAGLE3", "heads/eagle3_old_norms"},
        std::pair{"EAGLE3", "heads/eagle3_wider_than_its_target"}}) {
    testing::internal::CaptureStderr();
    load(with(algorithm, head));
    EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("not used"))) << head;
  }
}

TEST_F(MakeDrafter, made_up_weights_need_no_files_but_the_config) {
  for (const char* algorithm : {"EAGLE", "EAGLE3"}) {
    DraftOptions options =
        with(algorithm, std::string(algorithm) == "EAGLE" ? "heads/eagle" : "heads/eagle3");
    options.load.load_format = "dummy";
    const auto model = load(options);
    EXPECT_THAT(model->target_tokens(), Each(Lt(64)));
  }
}

TEST_F(MakeDrafter, a_page_costs_the_drafts_kv_and_a_feature) {
  const auto head = load(with("EAGLE", "heads/eagle"));
  EXPECT_EQ(draft_bytes_per_page(*ops_, *head),
            ops_->kv_page_bytes(head->kv_shape()) + 32 * sizeof(float));
}

TEST_F(MakeDrafter, a_sequence_costs_the_features_that_it_may_catch_up_with) {
  for (const auto& [algorithm, name] :
       {std::pair("EAGLE3", "heads/eagle3"), std::pair("EAGLE", "heads/eagle")}) {
    const auto head = load(with(algorithm, name));
    const FeatureTaps taps = head->taps();
    const std::size_t tensors = taps.layer_inputs.size() + (taps.last_hidden ? 1 : 0);
    EXPECT_EQ(draft_bytes_per_slot(*head),
              tensors * at(kCatchUpTokens * head->tap_width()) * sizeof(float));
  }
}

TEST_F(MakeDrafter, what_texts_take_is_the_sum_of_all_that_draft) {
  DraftSetup setup = set_up_drafts(with("SUFFIX", ""), "LlamaForCausalLM");
  const std::size_t one = draft_fixed_bytes(setup);
  EXPECT_GT(one, 0U);
  EXPECT_LT(one, std::size_t{1} << 40);
  setup.plan.parts.insert(setup.plan.parts.end(), setup.plan.parts.begin(), setup.plan.parts.end());
  EXPECT_EQ(draft_fixed_bytes(setup), 2 * one);
  EXPECT_EQ(draft_fixed_bytes({}), 0U);
  // Corpora take memory where there are some.
  DraftOptions ngram = with("NGRAM", "");
  const std::int64_t tokens = ngram.own.edit<NgramOptions>().corpus_tokens;
  const std::size_t without = draft_fixed_bytes(set_up_drafts(ngram, "LlamaForCausalLM"));
  ngram.own.edit<NgramOptions>().corpus_drafts = 1;
  EXPECT_EQ(draft_fixed_bytes(set_up_drafts(ngram, "LlamaForCausalLM")),
            without + Corpora::bytes(tokens));
}

TEST_F(MakeDrafter, a_pace_is_the_one_that_is_given_or_made) {
  class Counting final : public StepPace {
   public:
    void open(SeqSlot) override { ++opened; }
    int opened = 0;
  };
  const DraftSetup setup = set_up_drafts(with("SUFFIX", ""), "LlamaForCausalLM");
  const auto given = std::make_shared<Counting>();
  for (const auto& pace : {std::shared_ptr<StepPace>(given), std::shared_ptr<StepPace>()}) {
    const auto drafter = make_drafter(*ops_, nullptr, setup, 8, 1, pace);
    drafter->open(0, {});
    EXPECT_EQ(given->opened, 1);
    drafter->close(0);
  }
}

// Three heads, each with KV of its own; the second and the third read what is carried to them.
TEST_F(MakeDrafter, a_checkpoint_with_a_head_for_each_depth_is_a_chain) {
  DraftOptions options = with("EAGLE", "");
  const auto chain = load(options, "nextn_chain");
  EXPECT_EQ(chain->kv_shape().layers, 3);
  EXPECT_EQ(chain->feature_width(), 32);
  EXPECT_EQ(chain->carried_width(), 64);
  EXPECT_EQ(draft_bytes_per_page(*ops_, *chain),
            ops_->kv_page_bytes(chain->kv_shape()) + 3 * 32 * sizeof(float));
  // Asked before the next one is loaded, with a target of its own.
  const std::size_t whole = chain->weight_bytes(), of_slot = draft_bytes_per_slot(*chain);
  // No head is loaded for a depth that no tree has.
  options.steps = 2;
  const auto two = load(options, "nextn_chain");
  EXPECT_EQ(two->kv_shape().layers, 2);
  EXPECT_LT(two->weight_bytes(), whole);
  options.steps = 1;
  const auto one = load(options, "nextn_chain");
  EXPECT_EQ(one->kv_shape().layers, 1);
  EXPECT_EQ(one->carried_width(), 0);
  EXPECT_EQ(of_slot - draft_bytes_per_slot(*one), 64 * sizeof(float));
}

TEST_F(MakeDrafter, heads_of_the_other_kind_are_refused_by_name) {
  EXPECT_THAT(fault(with("EAGLE", "heads/eagle3")), HasSubstr("under EAGLE"));
  EXPECT_THAT(fault(with("EAGLE3", "heads/eagle")), HasSubstr("under EAGLE3"));
}

TEST_F(MakeDrafter, what_is_no_head_is_refused) {
  EXPECT_THAT(fault(with("EAGLE", "targets/qwen3")),
              HasSubstr("a language model, not a draft head"));
  EXPECT_THAT(fault(with("EAGLE", "")), HasSubstr("carries no draft head"));
  EXPECT_THAT(fault(with("EAGLE", "targets/llama")), HasSubstr("carries no draft head"));
  EXPECT_THAT(fault(with("EAGLE3", "")), HasSubstr("EAGLE3 needs a draft model"));
  EXPECT_THAT(fault(with("STANDALONE", "")), HasSubstr("STANDALONE needs a draft model"));
}

TEST_F(MakeDrafter, a_window_is_for_eagle3_and_a_token_map_for_the_others) {
  const auto log_of = [&](const DraftOptions& options) {
    testing::internal::CaptureStderr();
    load(options);
    return testing::internal::GetCapturedStderr();
  };
  DraftOptions options = with("EAGLE", "heads/eagle");
  options.window = 8;
  EXPECT_THAT(log_of(options), HasSubstr("--speculative-draft-window-size has no effect"));
  options = with("EAGLE3", "heads/eagle3");
  options.window = 8;
  options.token_map = kGolden + "heads/eagle_frspec/freq.pt";
  const std::string log = log_of(options);
  EXPECT_THAT(log, HasSubstr("--speculative-token-map has no effect"));
  EXPECT_THAT(log, Not(HasSubstr("window")));
}

}  // namespace
}  // namespace foretoken
