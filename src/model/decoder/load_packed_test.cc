// A model from packed weights that were kept is the model from the checkpoint, to the byte, and
// whatever is wrong with what was kept costs no more than the usual load.
#include "base/testing/test_folder.h"
#include "checkpoint/packed/packed_cache.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "backend/backend.h"
#include "backend/testing/pack_watch_test_kit.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/load.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kGolden = FORETOKEN_SOURCE_DIR "/tests/golden/";
constexpr int kMatrices = 6;  // of the model below: embedding, qkv, o, gate and up, down, head

constexpr const char* kConfig = R"({"architectures":["LlamaForCausalLM"],"hidden_size":64,
    "intermediate_size":96,"num_hidden_layers":1,"num_attention_heads":2,"vocab_size":50,
    "max_position_embeddings":64,"attention_bias":true,"torch_dtype":"float32"})";

class PackedCacheTest : public testing::Test {
 protected:
  PackedCacheTest() { write_model(0); }

  // shift: of all values; no size changes with it.
  void write_model(unsigned char shift) const {
    const std::string layer = "model.layers.0.";
    std::vector<TestTensor> tensors = {test_tensor("model.embed_tokens.weight", {50, 64}),
                                       test_tensor(layer + "input_layernorm.weight", {64}),
                                       test_tensor(layer + "post_attention_layernorm.weight", {64}),
                                       test_tensor(layer + "mlp.gate_proj.weight", {96, 64}),
                                       test_tensor(layer + "mlp.up_proj.weight", {96, 64}),
                                       test_tensor(layer + "mlp.down_proj.weight", {64, 96}),
                                       test_tensor("model.norm.weight", {64}),
                                       test_tensor("lm_head.weight", {50, 64}),
                                       test_tensor("foreign.weight", {8})};
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      tensors.push_back(test_tensor(layer + "self_attn." + name + ".weight", {64, 64}));
      tensors.push_back(test_tensor(layer + "self_attn." + name + ".bias", {64}));
    }
    for (TestTensor& tensor : tensors)
      for (std::size_t i = 2; i < tensor.bytes.size(); i += 4)
        tensor.bytes[i] = static_cast<char>(tensor.bytes[i] ^ shift);
    model_.write("config.json", kConfig);
    model_.write("model.safetensors", safetensors_bytes(tensors));
  }

  struct Loaded {
    PackWatch::Seen seen;
    std::string log;
  };
  Loaded load(ModelOptions options = {}) { return load_from(model_.path(), std::move(options)); }
  Loaded load_from(const std::string& folder, ModelOptions options) {
    options.show_progress = false;
    testing::internal::CaptureStderr();
    load_model(ops_, folder, options);
    return {ops_.seen(), testing::internal::GetCapturedStderr()};
  }
  ModelOptions kept(const std::string& quantization = {}, bool searches = false) const {
    return {.quantization = quantization_named(quantization, searches, "test"),
            .packed_cache = cache_.path()};
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(cache_.path())) files.push_back(entry.path());
    return files;
  }
  // The next load packs everything, with a warning, and the one behind it nothing.
  void expect_repair(const std::string& warning) {
    const Loaded plain = load();
    const Loaded packed = load(kept());
    EXPECT_THAT(packed.log, AllOf(HasSubstr("WARNING"), HasSubstr(warning)));
    EXPECT_EQ(packed.seen.images, plain.seen.images);
    const Loaded again = load(kept());
    EXPECT_EQ(again.seen.packed, 0);
    EXPECT_EQ(again.seen.images, plain.seen.images);
  }

  TestFolder model_, cache_;
  ThreadPool pool_{2, false};
  PackWatch ops_{make_backend({.device = "cpu"}, pool_)};
};

TEST_F(PackedCacheTest, the_second_start_packs_nothing_and_has_the_same_bytes) {
  const Loaded plain = load();
  const Loaded first = load(kept());
  EXPECT_GE(plain.seen.packed, kMatrices - 1);  // an embedding that is only looked up is not packed
  EXPECT_EQ(first.seen.packed, plain.seen.packed);
  EXPECT_EQ(first.seen.read, 0);
  EXPECT_THAT(first.log, HasSubstr("were written to " + cache_.path()));
  const Loaded second = load(kept());
  EXPECT_EQ(second.seen.packed, 0);
  EXPECT_EQ(second.seen.read, plain.seen.packed);
  EXPECT_THAT(second.log, HasSubstr("were read from " + cache_.path()));
  EXPECT_EQ(first.seen.images, plain.seen.images);
  EXPECT_EQ(second.seen.images, plain.seen.images);
  // The tensors of matrices that were not read are known all the same.
  for (const Loaded* loaded : {&plain, &second})
    EXPECT_THAT(loaded->log, HasSubstr("1 tensors of the checkpoint are not used by this model: "
                                       "foreign.weight"));
}

TEST_F(PackedCacheTest, every_format_has_a_file_of_its_own) {
  std::size_t formats = 0;
  for (const bool searches : {false, true})
    for (const std::string_view name : {"unquant", "w8a8_int8", "w8a16", "int4", "w4a8-g64"}) {
      if (searches && name == "unquant") continue;
      ModelOptions plain = kept(std::string(name), searches);
      plain.packed_cache.clear();
      const auto expected = load(plain).seen;
      EXPECT_GT(load(kept(std::string(name), searches)).seen.packed, 0) << name;
      const auto again = load(kept(std::string(name), searches)).seen;
      EXPECT_EQ(again.packed, 0) << name;
      EXPECT_EQ(again.images, expected.images) << name;
      EXPECT_EQ(files().size(), ++formats);
    }
  for (const char* dtype : {"float16", "float32"}) {
    ModelOptions options = kept();
    options.dtype = dtype;
    EXPECT_GT(load(options).seen.packed, 0);
    EXPECT_EQ(load(options).seen.packed, 0);
  }
  EXPECT_EQ(load(kept()).seen.packed, 0);
}

TEST_F(PackedCacheTest, checkpoints_that_are_quantized_are_kept_as_they_are_packed) {
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(kGolden + "quantized")) {
    for (const std::string_view name : {"unquant", "w8a8_int8"}) {
      ModelOptions options = kept(std::string(name));
      const Loaded first = load_from(entry.path().string(), options);
      const Loaded second = load_from(entry.path().string(), options);
      EXPECT_GT(first.seen.packed, 0) << entry.path();
      EXPECT_EQ(second.seen.packed, 0) << entry.path();
      EXPECT_EQ(second.seen.images, first.seen.images) << entry.path();
      EXPECT_THAT(second.log, Not(HasSubstr("not used"))) << entry.path();
    }
    ++folders;
  }
  EXPECT_GE(folders, 10);
}

TEST_F(PackedCacheTest, a_checkpoint_that_changed_takes_the_place_of_what_it_was) {
  load(kept());
  const auto before = load().seen.images;
  write_model(0x55);
  const Loaded changed = load(kept());
  EXPECT_GT(changed.seen.packed, 0);
  EXPECT_THAT(changed.log, HasSubstr("the checkpoint is not what it was"));
  EXPECT_NE(changed.seen.images, before);
  EXPECT_EQ(changed.seen.images, load().seen.images);
  EXPECT_EQ(load(kept()).seen.packed, 0);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(PackedCacheTest, what_the_config_is_overridden_with_is_told_apart) {
  load(kept());
  ModelOptions options = kept();
  options.config_overrides = R"({"tie_word_embeddings":true})";
  EXPECT_GT(load(options).seen.packed, 0);
  EXPECT_EQ(load(kept()).seen.packed, 0);
}

TEST_F(PackedCacheTest, a_model_elsewhere_has_a_file_of_its_own) {
  load(kept());
  const TestFolder other;
  fs::copy(model_.path(), other.path(), fs::copy_options::recursive);
  EXPECT_GT(load_from(other.path(), kept()).seen.packed, 0);
  EXPECT_EQ(load(kept()).seen.packed, 0);
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(PackedCacheTest, a_damaged_file_is_replaced) {
  load(kept());
  const fs::path path = files().at(0);
  const auto size = fs::file_size(path);
  const auto change = [&](std::uintmax_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put('\x7f');
  };
  change(20);
  expect_repair("version");
  change(4096 + 2000);
  expect_repair("is damaged at cpu ");
  change(size - 20);
  expect_repair("a damaged directory");
  fs::resize_file(path, 0);
  expect_repair("ends in its header");
  fs::resize_file(path, size / 2);
  expect_repair("was cut off");
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(PackedCacheTest, a_folder_that_cannot_be_written_costs_a_warning) {
  model_.write("file", "");
  ModelOptions options = kept();
  options.packed_cache = model_.path() + "/file/folder";
  const Loaded loaded = load(options);
  EXPECT_THAT(loaded.log, HasSubstr("WARNING: Packed weights are not kept: cannot write file"));
  EXPECT_EQ(loaded.seen.images, load().seen.images);
}

TEST_F(PackedCacheTest, folders_are_made) {
  ModelOptions options = kept();
  options.packed_cache += "/a/b";
  load(options);
  EXPECT_EQ(load(options).seen.packed, 0);
}

TEST_F(PackedCacheTest, nothing_is_kept_of_made_up_weights_and_by_backends_that_cannot) {
  ModelOptions options = kept();
  options.load_format = "dummy";
  EXPECT_THAT(load(options).log, HasSubstr("made-up weights are in no file"));
  const auto reference = make_backend({.device = "reference"}, pool_);
  testing::internal::CaptureStderr();
  ModelOptions plain = kept();
  plain.show_progress = false;
  load_model(*reference, model_.path(), plain);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("this backend's cannot be"));
  EXPECT_TRUE(files().empty());
}

TEST_F(PackedCacheTest, a_checkpoint_that_is_written_to_meanwhile_is_not_kept) {
  int calls = 0;
  const std::string path = cache_.path() + "/x.packed";
  PackedCache cache(path, [&] { return std::to_string(calls++); });
  std::vector<float> values(64 * 32);
  const Tensor matrix(values.data(), DType::kF32, {64, 32});
  const auto packed = ops_.pack({.weights = {&matrix, 1}, .biases = {}});
  cache.keep("w", {}, {"w"}, *packed);
  testing::internal::CaptureStderr();
  cache.finish();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("was written to while it was read"));
  EXPECT_FALSE(fs::exists(path));
}

class CheckpointState : public testing::Test {
 protected:
  CheckpointState() {
    bytes_.assign(1 << 20, 'x');
    write();
  }
  void write() const { folder_.write("model-00001-of-00001.safetensors", bytes_); }
  std::string path() const { return folder_.path() + "/model-00001-of-00001.safetensors"; }
  std::string state() const { return checkpoint_state(folder_.path()); }
  void set_time(std::int64_t seconds) const {
    const std::array<timespec, 2> times{
        {{.tv_sec = seconds, .tv_nsec = 0}, {.tv_sec = seconds, .tv_nsec = 0}}};
    ASSERT_EQ(utimensat(AT_FDCWD, path().c_str(), times.data(), 0), 0);
  }

  TestFolder folder_;
  std::string bytes_;
};

TEST_F(CheckpointState, stays_while_nothing_is_written) {
  const std::string before = state();
  folder_.write("README.md", "text");
  EXPECT_EQ(state(), before);
}

TEST_F(CheckpointState, changes_with_any_file_of_the_checkpoint) {
  std::string before = state();
  folder_.write("config.json", "{}");
  EXPECT_NE(state(), before);
  before = state();
  bytes_ += 'x';
  write();
  EXPECT_NE(state(), before);
}

TEST_F(CheckpointState, changes_with_the_time_of_writing) {
  set_time(1000);
  const std::string before = state();
  set_time(1001);
  EXPECT_NE(state(), before);
}

// A byte that is no sample, and the time of writing put back: the time of change tells, as soon as
// the clock of the file system has moved on.
TEST_F(CheckpointState, changes_with_bytes_that_nobody_looks_at) {
  set_time(1000);
  const std::string before = state();
  bytes_[300000] = 'y';
  std::string after = before;
  for (int i = 0; i < 100000 && after == before; ++i) {
    write();
    set_time(1000);
    after = state();
  }
  EXPECT_NE(after, before);
}

// Its beginning, middle and end are looked at, and all of a small one.
TEST_F(CheckpointState, ends_with_a_sum_of_bytes) {
  constexpr std::size_t kSample = 1 << 16;
  const auto sum_with = [&](std::size_t size, std::size_t changed) {
    bytes_.assign(size, 'x');
    if (changed < size) bytes_[changed] = 'y';
    write();
    const std::string text = state();
    return text.substr(text.size() - 17);
  };
  constexpr std::size_t kNone = SIZE_MAX, kLarge = 8 * kSample, kSmall = 3 * kSample;
  for (const std::size_t seen : {std::size_t{0}, kLarge / 2, kLarge - 1})
    EXPECT_NE(sum_with(kLarge, seen), sum_with(kLarge, kNone)) << seen;
  EXPECT_EQ(sum_with(kLarge, 2 * kSample), sum_with(kLarge, kNone));
  for (std::size_t seen = 0; seen < kSmall; seen += kSample / 8)
    EXPECT_NE(sum_with(kSmall, seen), sum_with(kSmall, kNone)) << seen;
}

TEST_F(CheckpointState, folders_are_no_part_of_it) {
  const std::string before = state();
  folder_.write("old.bin/weights", "text");
  EXPECT_EQ(state(), before);
}

TEST_F(CheckpointState, a_folder_that_is_none_is_an_error) {
  EXPECT_THAT(error_of([] { checkpoint_state("/nowhere/at/all"); }), HasSubstr("/nowhere/at/all"));
}

}  // namespace
}  // namespace foretoken
