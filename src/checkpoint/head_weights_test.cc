#include "checkpoint/head_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(HeadWeights, all_spellings_become_one) {
  const TestFolder folder;
  folder.write("model.safetensors",
               safetensors_bytes({test_tensor("model.fc.weight", {2, 4}),
                                  test_tensor("midlayer.hidden_norm.weight", {3}),
                                  test_tensor("aux_norm_mid.weight", {2})}));
  const auto weights = head_weights(open_checkpoint(folder.path(), "auto", false));
  EXPECT_THAT(weights->names(),
              UnorderedElementsAre("fc.weight", "layers.0.hidden_norm.weight", "fc_norm.1.weight"));
  EXPECT_EQ(weights->find("fc.weight", {2, 4})->shape(), (Shape{2, 4}));
  EXPECT_FALSE(weights->find("model.fc.weight", {2, 4}));
}

TEST(HeadWeights, two_spellings_of_one_tensor_are_refused) {
  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("model.fc.weight", {2}),
                                                       test_tensor("fc.weight", {2})}));
  EXPECT_THAT(error_of([&] { head_weights(open_checkpoint(folder.path(), "auto", false)); }),
              HasSubstr("mean the same"));
}

}  // namespace
}  // namespace foretoken
