#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "base/testing/test_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_progress.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fault_of(const TestFolder& folder) {
  return error_of([&] { open_checkpoint(folder.path(), "safetensors", false); });
}

std::string index_of(const std::string& map) { return "{\"weight_map\":{" + map + "}}"; }

constexpr const char* kIndex = "model.safetensors.index.json";

TEST(Safetensors, a_single_file_gives_its_tensors) {
  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("a", {2, 2})}));
  folder.write("consolidated.safetensors", "another format's copy, not to be read");
  const auto source = open_checkpoint(folder.path(), "safetensors", false);
  EXPECT_THAT(source->names(), ElementsAre("a"));
  const auto a = source->find("a", {2, 2});
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(a->shape(), Shape({2, 2}));
  EXPECT_EQ(a->f32()[3], 0.375F);
  EXPECT_FALSE(source->find("b", {2, 2}).has_value());
}

TEST(Safetensors, tensors_at_odd_addresses_are_aligned) {
  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("a", {3})}, 1));
  const auto source = open_checkpoint(folder.path(), "safetensors", false);
  const auto a = source->find("a", {3});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a->data()) % 4, 0U);
  EXPECT_EQ(a->f32()[2], 0.25F);
  EXPECT_EQ(source->find("a", {3})->data(), a->data());  // one copy
}

TEST(Safetensors, shards_are_found_through_the_index) {
  const TestFolder folder;
  folder.write("x.safetensors", safetensors_bytes({test_tensor("a", {2})}));
  folder.write("y.safetensors", safetensors_bytes({test_tensor("b", {3})}));
  folder.write(kIndex, index_of(R"("a":"x.safetensors","b":"y.safetensors")"));
  const auto source = open_checkpoint(folder.path(), "safetensors", false);
  EXPECT_THAT(source->names(), ElementsAre("a", "b"));
  EXPECT_EQ(source->find("b", {3})->dim(0), 3);
}

// What a checkpoint that was saved anew in one file leaves of the one before.
TEST(Safetensors, one_file_has_priority_over_an_index_that_does_not_name_it) {
  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("a", {2})}));
  folder.write(kIndex, index_of(R"("b":"gone.safetensors")"));
  EXPECT_THAT(open_checkpoint(folder.path(), "safetensors", false)->names(), ElementsAre("a"));
  folder.write("more.safetensors", safetensors_bytes({test_tensor("b", {3})}));
  folder.write(kIndex, index_of(R"("a":"model.safetensors","b":"more.safetensors")"));
  EXPECT_THAT(open_checkpoint(folder.path(), "auto", false)->names(), ElementsAre("a", "b"));
}

TEST(Safetensors, a_missing_shard_is_named) {
  const TestFolder folder;
  folder.write("x.safetensors", safetensors_bytes({test_tensor("a", {2})}));
  folder.write(kIndex, index_of(R"("a":"x.safetensors","b":"y.safetensors")"));
  EXPECT_THAT(fault_of(folder),
              HasSubstr("missing shard of the checkpoint (" + folder.path() + "/y.safetensors)"));
}

TEST(Safetensors, a_missing_shard_shows_without_an_index_too) {
  const TestFolder folder;
  folder.write("model-00001-of-00002.safetensors", safetensors_bytes({test_tensor("a", {2})}));
  EXPECT_THAT(fault_of(folder), HasSubstr("missing shard"));
  folder.write("model-00002-of-00002.safetensors", safetensors_bytes({test_tensor("b", {2})}));
  EXPECT_EQ(fault_of(folder), "");
  const TestFolder long_numbers, no_number;
  long_numbers.write("model-000000001-of-000000002.safetensors",
                     safetensors_bytes({test_tensor("a", {2})}));
  EXPECT_THAT(fault_of(long_numbers), HasSubstr("expected 000000002 files like"));
  no_number.write("model-1-of-99999999999999999999.safetensors",
                  safetensors_bytes({test_tensor("a", {2})}));
  EXPECT_EQ(fault_of(no_number), "");
}

TEST(Safetensors, an_index_that_does_not_match_the_files_is_refused) {
  const TestFolder folder;
  folder.write("x.safetensors", safetensors_bytes({test_tensor("a", {2})}));
  folder.write("y.safetensors", safetensors_bytes({test_tensor("b", {2})}));
  folder.write(kIndex, index_of(R"("a":"y.safetensors","b":"y.safetensors")"));
  EXPECT_THAT(fault_of(folder), HasSubstr("tensor a"));  // x.safetensors is not even opened
  folder.write(kIndex, index_of(R"("a":"y.safetensors","b":"x.safetensors")"));
  EXPECT_THAT(fault_of(folder), HasSubstr("tensor is not in the file that the index names"));
}

TEST(Safetensors, one_tensor_in_two_shards_is_refused) {
  const TestFolder folder;
  folder.write("x.safetensors", safetensors_bytes({test_tensor("a", {2})}));
  folder.write("y.safetensors", safetensors_bytes({test_tensor("a", {2}), test_tensor("b", {2})}));
  folder.write(kIndex, index_of(R"("a":"x.safetensors","b":"y.safetensors")"));
  EXPECT_THAT(fault_of(folder), HasSubstr("two shards hold one tensor"));
}

TEST(Safetensors, a_broken_index_is_refused) {
  const TestFolder folder;
  folder.write(kIndex, "{");
  EXPECT_THAT(fault_of(folder), HasSubstr("not valid JSON"));
  folder.write(kIndex, "{}");
  EXPECT_THAT(fault_of(folder), HasSubstr("missing key \"weight_map\""));
  folder.write(kIndex, index_of(""));
  EXPECT_THAT(fault_of(folder), HasSubstr("names no file"));
  folder.write(kIndex, index_of(R"("a":7)"));
  EXPECT_THAT(fault_of(folder), HasSubstr("tensor a"));
  folder.write(kIndex, index_of(R"("a":"../../etc/passwd")"));
  EXPECT_THAT(fault_of(folder), HasSubstr("a file name inside the folder"));
}

TEST(Safetensors, a_folder_without_weights_is_refused) {
  const TestFolder folder;
  folder.write("training_args.bin", "");
  EXPECT_THAT(fault_of(folder),
              HasSubstr("no weights in the model folder (" + folder.path() +
                        "): expected model.safetensors or model.safetensors.index.json"));
  EXPECT_THAT(error_of([&] { open_checkpoint(folder.path(), "auto", false); }),
              HasSubstr("pytorch_model.bin or pytorch_model.bin.index.json, found none"));
}

TEST(Safetensors, faults_inside_a_file_name_the_file) {
  const TestFolder folder;
  folder.write("model.safetensors", "");
  EXPECT_THAT(fault_of(folder), HasSubstr(folder.path() + "/model.safetensors"));
}

TEST(Safetensors, a_shard_is_done_when_its_last_tensor_is_released) {
  const TestFolder folder;
  folder.write("x.safetensors",
               safetensors_bytes({test_tensor("a", {2}), test_tensor("b", {5000})}));
  folder.write("y.safetensors", safetensors_bytes({test_tensor("c", {3})}));
  folder.write(kIndex, index_of(R"("a":"x.safetensors","c":"y.safetensors")"));
  testing::internal::CaptureStderr();
  const auto source = open_checkpoint(folder.path(), "safetensors", true);
  source->release("a");
  source->release("a");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("  0% Completed | 0/2 ["));
  testing::internal::CaptureStderr();
  source->release("b");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(" 50% Completed | 1/2 ["));
  testing::internal::CaptureStderr();
  source->release("c");
  source->release("no such tensor");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("100% Completed | 2/2 ["));
}

TEST(ShardProgress, is_silent_where_the_log_tells_warnings_only) {
  const auto said_at = [](LogLevel level) {
    set_log_level(level);
    testing::internal::CaptureStderr();
    ShardProgress("gguf", 1, true).finish_one();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said_at(LogLevel::kWarning), "");
  EXPECT_NE(said_at(LogLevel::kInfo), "");
}

TEST(ShardProgress, lines_read_like_those_of_tqdm) {
  EXPECT_EQ(ShardProgress::line("safetensors", 0, 2, 0.0),
            "Loading safetensors checkpoint shards:   0% Completed | 0/2 [00:00<?, ?it/s]");
  EXPECT_EQ(ShardProgress::line("safetensors", 1, 4, 1.5),
            "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:01<00:04,  1.50s/it]");
  EXPECT_EQ(ShardProgress::line("safetensors", 4, 4, 2.0),
            "Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:02<00:00,  2.00it/s]");
}

}  // namespace
}  // namespace foretoken
