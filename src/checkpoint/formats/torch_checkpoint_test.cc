#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A folder with copies of files that tools/golden/make_torch_files.py wrote.
class TorchCheckpoint : public testing::Test {
 protected:
  void copy(const std::string& name, const std::string& as) {
    std::filesystem::copy_file(FORETOKEN_SOURCE_DIR "/tests/golden/torch/" + name,
                               folder_.path() + "/" + as);
  }
  std::unique_ptr<WeightSource> open(const std::string& format = "auto") {
    return open_checkpoint(folder_.path(), format, false);
  }

  TestFolder folder_;
};

TEST_F(TorchCheckpoint, is_found_where_there_are_no_safetensors) {
  copy("checkpoint.bin", "pytorch_model.bin");
  copy("command.bin", "training_args.bin");  // not for the model, not to be read
  EXPECT_EQ(open()->names().size(), 12U);
  folder_.write("adapter_model.safetensors", "not a model");
  folder_.write("other.safetensors", safetensors_bytes({test_tensor("b", {2})}));
  EXPECT_EQ(open()->names().size(), 12U) << "the usual name";
  folder_.write("model.safetensors", safetensors_bytes({test_tensor("a", {2})}));
  EXPECT_THAT(open()->names(), ElementsAre("a"));
  EXPECT_EQ(open("pt")->names().size(), 12U);
  EXPECT_THAT(error_of([&] { open("gguf"); }), HasSubstr("--load-format"));
}

TEST_F(TorchCheckpoint, is_found_by_its_extensions) {
  copy("state_dict.bin", "weights.pt");
  EXPECT_THAT(open()->names(), ElementsAre("bias", "weight"));
  copy("checkpoint.bin", "head.bin");
  EXPECT_EQ(open()->names().size(), 12U);
}

TEST_F(TorchCheckpoint, shards_are_found_through_the_index) {
  copy("state_dict.bin", "pytorch_model-00001-of-00002.bin");
  copy("checkpoint_legacy.bin", "pytorch_model-00002-of-00002.bin");
  folder_.write("pytorch_model.bin.index.json",
                R"({"weight_map": {"weight": "pytorch_model-00001-of-00002.bin",
                                   "f32": "pytorch_model-00002-of-00002.bin"}})");
  EXPECT_EQ(open()->names().size(), 14U);
  std::filesystem::remove(folder_.path() + "/pytorch_model-00002-of-00002.bin");
  EXPECT_THAT(error_of([&] { open(); }), HasSubstr("missing shard of the checkpoint"));
}

class BothFormats : public TorchCheckpoint, public testing::WithParamInterface<const char*> {};

TEST_P(BothFormats, tensors_are_dense_and_aligned) {
  copy(GetParam(), "pytorch_model.bin");
  const auto source = open();
  for (const auto& name : source->names()) {
    const auto tensor = source->find(name, {});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data()) % dtype_bytes(tensor->dtype()), 0U)
        << name;
  }
  const auto values = [&](const char* name) {
    const auto tensor = source->find(name, {});
    return std::vector<float>(tensor->f32(), tensor->f32() + tensor->elements());
  };
  EXPECT_THAT(values("f32"), ElementsAre(0, 0.125F, 0.25F, 0.375F, 0.5F, 0.625F));
  EXPECT_THAT(values("transposed"), ElementsAre(0, 0.375F, 0.125F, 0.5F, 0.25F, 0.625F));
  EXPECT_THAT(values("column_1"), ElementsAre(0.125F, 0.5F, 0.875F, 1.25F));
  EXPECT_THAT(values("empty"), ElementsAre());
  EXPECT_EQ(source->find("bf16", {})->bits16()[1], 0x3e00);  // 1/8
  EXPECT_FALSE(source->find("no such tensor", {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(TorchCheckpoint, BothFormats,
                         testing::Values("checkpoint.bin", "checkpoint_legacy.bin"));

TEST_F(TorchCheckpoint, progress_is_reported_in_sglangs_words) {
  copy("state_dict.bin", "pytorch_model.bin");
  testing::internal::CaptureStderr();
  const auto source = open_checkpoint(folder_.path(), "auto", true);
  source->release("weight");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("Loading pt checkpoint shards:   0% Completed | 0/1"),
                    Not(HasSubstr("100%"))));
  testing::internal::CaptureStderr();
  source->release("bias");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("100% Completed | 1/1"));
}

TEST_F(TorchCheckpoint, a_file_that_calls_something_is_refused) {
  copy("command.bin", "pytorch_model.bin");
  EXPECT_THAT(error_of([&] { open(); }),
              AllOf(HasSubstr(folder_.path() + "/pytorch_model.bin"), HasSubstr("print")));
}

}  // namespace
}  // namespace foretoken
