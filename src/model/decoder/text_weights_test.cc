#include "model/decoder/text_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/test_files.h"
#include "checkpoint/testing/test_source.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tells what was released.
class Source final : public TensorSource {
 public:
  explicit Source(std::vector<std::string>& released) : released_(released) {}
  void release(const std::string& name) const override { released_.push_back(name); }

 private:
  std::vector<std::string>& released_;
};

class TextWeightsTest : public testing::Test {
 protected:
  std::unique_ptr<WeightSource> text_of(const std::vector<std::string>& names) {
    auto source = std::make_unique<Source>(released_);
    float value = 0;
    for (const std::string& name : names) source->put(name, DType::kF32, {2}, ++value);
    return text_weights(std::move(source));
  }

  std::vector<std::string> released_;
};

TEST_F(TextWeightsTest, towers_of_llama4_are_left_out) {
  const auto text = text_of({"vision_model.class_embedding", "language_model.model.norm.weight",
                             "multi_modal_projector.linear_1.weight"});
  EXPECT_THAT(text->names(), ElementsAre("model.norm.weight"));
}

TEST_F(TextWeightsTest, names_are_those_of_the_decoder) {
  for (const char* prefix : {"language_model.model.", "model.language_model.", "model."}) {
    const auto text = text_of({std::string(prefix) + "norm.weight", "lm_head.weight"});
    EXPECT_THAT(text->names(), ElementsAre("lm_head.weight", "model.norm.weight")) << prefix;
    EXPECT_EQ(text->find("model.norm.weight", {2})->f32()[0], 1.0F);
    EXPECT_FALSE(text->find("norm.weight", {2}).has_value());
  }
  const auto head = text_of({"language_model.lm_head.weight", "odd.weight"});
  EXPECT_THAT(head->names(), ElementsAre("lm_head.weight", "odd.weight"));
  head->release("lm_head.weight");
  head->release("model.norm.weight");
  EXPECT_THAT(released_, ElementsAre("language_model.lm_head.weight"));
}

TEST_F(TextWeightsTest, towers_are_left_out_with_one_line) {
  testing::internal::CaptureStderr();
  const auto text = text_of({"model.vision_tower.a", "multi_modal_projector.b", "vision_tower.c",
                             "vision_towers.d", "model.norm.weight"});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("Text only is served: 3 tensors of multi_modal_projector and vision_tower "
                        "are not read."));
  EXPECT_THAT(text->names(), ElementsAre("model.norm.weight", "vision_towers.d"));
  EXPECT_THAT(released_,
              ElementsAre("model.vision_tower.a", "multi_modal_projector.b", "vision_tower.c"));
  EXPECT_FALSE(text->find("vision_tower.c", {2}).has_value());
}

TEST_F(TextWeightsTest, one_name_for_two_tensors_is_an_error) {
  EXPECT_THAT(error_of([&] { text_of({"model.norm.weight", "language_model.model.norm.weight"}); }),
              HasSubstr("two tensors stand for one of the decoder's"));
}

}  // namespace
}  // namespace foretoken
