// What a head reads when a sequence wakes from a rest: which tokens, which of the target's features
// in front of them, at which positions, and which of the text before it sees.

#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "backend/host/host_step.h"
#include "base/index.h"
#include "draft/with_model/draft_reader.h"

namespace foretoken::draft_reader_test {
namespace {

using testing::ElementsAreArray;

constexpr int kPages = 12, kScratch = 4;
constexpr SeqSlot kSlot = 1;

Token token_at(int position) { return 100 + position; }
// Of the target at a position: two taps of two numbers.
std::vector<float> feature_at(int position) {
  const auto p = static_cast<float>(position);
  return {p, 1000.0F + p, 2000.0F + p, 3000.0F + p};
}

// What the row of a slot carries to the next one, where something is carried.
constexpr int kCarried = 8;
std::vector<float> carried_from(int slot) {
  return std::vector<float>(kCarried, 7000.0F + static_cast<float>(slot));
}

// A head whose features are both taps side by side, or what leaves the target's last layer. It
// computes nothing and notes what it is given.
class NotingHead final : public DraftModel {
 public:
  NotingHead(Ops& ops, int carried, bool reads_ends)
      : ops_(ops), carried_(carried), reads_ends_(reads_ends) {}

  struct Seen {
    Batch batch;
    std::vector<std::vector<float>> features;  // by row
    std::vector<float> carried;                // to the first row
  };
  Seen last;
  void end_early() { ends_early_ = true; }

  FeatureTaps taps() const override {
    if (reads_ends_) return {.last_hidden = true, .layer_inputs = {}};
    return {.layer_inputs = {1, 2}};
  }
  std::int64_t tap_width() const override { return reads_ends_ ? 4 : 2; }
  int feature_width() const override { return 4; }
  int carried_width() const override { return carried_; }
  Tensor features(const Features& target, std::span<const std::int32_t> rows) override {
    const Tensor out = ops_.temp(DType::kF32, {static_cast<std::int64_t>(rows.size()), 4});
    if (reads_ends_) {
      EXPECT_LT(rows.back(), target.last_hidden.dim(0));
      ops_.gather_rows(target.last_hidden, rows, out);
      return out;
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t tap = 0; tap < 2; ++tap)
        std::copy_n(target.taps[tap].row_f32(rows[i]), 2,
                    out.row_f32(static_cast<std::int64_t>(i)) + 2 * tap);
    return out;
  }
  void allocate_kv(int) override {}
  KvShape kv_shape() const override { return {}; }
  std::size_t weight_bytes() const override { return 0; }
  std::int64_t vocab() const override { return 1000; }
  std::size_t forward_bytes(std::int64_t) const override { return 0; }
  ForwardSize forward_size(std::int64_t) const override { return {}; }
  std::int64_t hidden_width() const override { return 4; }
  std::int64_t logit_width() const override { return 4; }
  DraftRows forward(Batch& batch, const DraftInput& input) override {
    const Tensor features = input.features;
    last = {batch, {}, {}};
    for (std::int64_t row = 0; row < features.dim(0); ++row)
      last.features.emplace_back(features.row_f32(row), features.row_f32(row) + 4);
    if (ends_early_ && input.reads_logit_rows)
      return {.hidden = features, .feature = features, .rows = batch.logit_rows};
    if (carried_ == 0) return {.hidden = features, .feature = features};
    last.carried.assign(input.carried.row_f32(0), input.carried.row_f32(0) + carried_);
    const Tensor out = ops_.temp(DType::kF32, {batch.rows, carried_});
    for (int row = 0; row < batch.rows; ++row)
      std::ranges::copy(carried_from(batch.position[at(row)] + 1), out.row_f32(row));
    return {.hidden = features, .feature = out};
  }
  Tensor logits(Tensor hidden) override { return hidden; }

 private:
  Ops& ops_;
  const int carried_;
  const bool reads_ends_;
  bool ends_early_ = false;
};

class SwitchedPace final : public DraftPace {
 public:
  bool rests_now = false, sleeps_now = false;
  bool rests(SeqSlot) const override { return rests_now; }
  bool sleeps(SeqSlot) const override { return sleeps_now; }
};

// One sequence: its prompt, then tokens one by one, as decoding commits them.
class DraftReaderTest : public testing::Test {
 protected:
  explicit DraftReaderTest(int carried = 0, bool reads_ends = false)
      : pool_(1, false),
        ops_(make_backend({.device = "reference"}, pool_)),
        head_(*ops_, carried, reads_ends),
        reader_(*ops_, head_, kPages, 2, kScratch) {
    for (int page = 0; page < kPages; ++page) table_.pages[kSlot].push_back(kPages - 1 - page);
  }

  // Commits the text's next `count` tokens; the last one is the root of a tree.
  void commit(int count) {
    const int begin = table_.length[kSlot];
    std::vector<Token> text;
    for (int i = 0; i < count; ++i) text.push_back(token_at(begin + i));
    StepPlan plan;
    plan.entries.push_back({.slot = kSlot,
                            .chain = std::span(text).first(text.size() - 1),
                            .has_tree = true,
                            .params = &params_});
    trees_.plant(kSlot, text.back());
    Batch batch;
    ops_->layout(plan, trees_, table_, batch);
    Features features;
    const bool reads_ends = head_.taps().last_hidden;
    if (reads_ends) {
      if (!is_tapped_) features.last_rows = {count - 1};
      features.last_hidden = ops_->temp(DType::kF32, {is_tapped_ ? count : 1, 4});
      for (std::int64_t row = 0; row < features.last_hidden.dim(0); ++row)
        std::ranges::copy(feature_at(begin + static_cast<int>(row)),
                          features.last_hidden.row_f32(row));
    }
    for (std::size_t tap = 0; tap < 2 && is_tapped_ && !reads_ends; ++tap) {
      features.taps.push_back(ops_->temp(DType::kF32, {count, 2}));
      for (int i = 0; i < count; ++i)
        std::copy_n(feature_at(begin + i).begin() + static_cast<std::ptrdiff_t>(2 * tap), 2,
                    features.taps[tap].row_f32(i));
    }
    Walk walk;
    walk.seqs.push_back(
        {.slot = kSlot, .path = {0}, .emitted = {{}}, .foreseen = {}, .scored = {}});
    walk.seqs[0].emitted[0].token = token_at(begin + count);
    table_.length[kSlot] += count;
    reader_.read(
        {.plan = plan, .table = table_, .batch = batch, .walk = walk, .features = features}, pace_);
  }

  void sleep(bool is_tapped) {
    pace_.rests_now = pace_.sleeps_now = true;
    is_tapped_ = is_tapped;
  }
  void doze() {  // what is said is kept
    pace_.sleeps_now = false;
    is_tapped_ = true;
  }
  void wake() {
    doze();
    pace_.rests_now = false;
  }

  // A prompt, so many tokens during a rest, and the one whose commit wakes the sequence.
  void rest_and_wake(int prompt, int rest) {
    reader_.open(kSlot);
    table_.length[kSlot] = 0;
    pace_.rests_now = false;
    commit(prompt);
    pace_.rests_now = true;
    for (int i = 0; i < rest; ++i) commit(1);
    pace_.rests_now = false;
    commit(1);
  }

  PageId page(int slot) const { return table_.pages[kSlot][at(slot / kPageTokens)]; }
  std::vector<std::int32_t> kv_slots(int from, int to) const {
    std::vector<std::int32_t> slots;
    for (int slot = from; slot < to; ++slot)
      slots.push_back(page(slot) * kPageTokens + slot % kPageTokens);
    return slots;
  }

  // The rows given to the head were those of the slots [first, end): each with the token there, the
  // position and the feature of the one before, stored in its place.
  void expect_rows(int first, int end) {
    const Batch& batch = head_.last.batch;
    ASSERT_EQ(batch.rows, end - first);
    EXPECT_THAT(batch.kv_slot, ElementsAreArray(kv_slots(first, end)));
    for (int slot = first; slot < end; ++slot) {
      const std::size_t row = at(slot - first);
      EXPECT_EQ(batch.token[row], token_at(slot)) << slot;
      EXPECT_EQ(batch.position[row], slot - 1) << slot;
      EXPECT_THAT(head_.last.features[row], ElementsAreArray(feature_at(slot - 1))) << slot;
    }
  }
  std::vector<std::int32_t> seen_by_last_row() const {
    std::vector<std::int32_t> slots;
    visible_slots(head_.last.batch, head_.last.batch.rows - 1, slots);
    return slots;
  }

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  SamplingParams params_;
  SeqTable table_{2};
  DraftTrees trees_{2, 2};
  NotingHead head_;
  SwitchedPace pace_;
  DraftReader reader_;
  bool is_tapped_ = true;
};

TEST_F(DraftReaderTest, a_prompt_is_read_whole_but_for_the_first_slot) {
  reader_.open(kSlot);
  commit(20);
  expect_rows(1, 21);
}

// Of all that is read only the root has somebody who looks at it.
TEST_F(DraftReaderTest, a_root_is_found_where_the_model_left_out_the_rows_before_it) {
  reader_.open(kSlot);
  commit(20);
  EXPECT_THAT(head_.last.batch.logit_rows, ElementsAreArray({19}));
  EXPECT_EQ(reader_.place_of_root(reader_.sequence_of(kSlot)), 19);
  head_.end_early();
  commit(20);
  EXPECT_EQ(head_.last.batch.logit_rows.size(), 1U);
  EXPECT_EQ(reader_.place_of_root(reader_.sequence_of(kSlot)), 0);
}

TEST_F(DraftReaderTest, a_short_rest_is_caught_up_with_whole) {
  for (const int rest : {1, 12, 31}) {
    SCOPED_TRACE(rest);
    rest_and_wake(20, rest);
    expect_rows(20, 20 + rest + 2);  // what was missed, the token that woke it, and the root
    EXPECT_THAT(seen_by_last_row(), ElementsAreArray(kv_slots(1, 20 + rest + 2)));
  }
}

// Of the rest's tokens 32 are kept with their features. It goes on from the first whole page whose
// tokens are all known, and the feature in front of them: between 17 and 32 tokens before the end.
TEST_F(DraftReaderTest, after_a_longer_rest_the_last_pages_are_read_with_their_own_features) {
  for (int rest = 32; rest <= 70; ++rest) {
    SCOPED_TRACE(rest);
    rest_and_wake(20, rest);
    const int base = 20 + rest;
    const int first = round_up(base - 31, kPageTokens);
    expect_rows(first, base + 2);
    // Page 0 was read with the prompt; page 1 holds slots that went by.
    auto seen = kv_slots(1, kPageTokens);
    for (const std::int32_t slot : kv_slots(std::max(first, 2 * kPageTokens), base + 2))
      seen.push_back(slot);
    EXPECT_THAT(seen_by_last_row(), ElementsAreArray(seen));
  }
}

// Nothing was kept of what was said asleep: reading goes on from the first whole page after that.
TEST_F(DraftReaderTest, what_was_said_asleep_is_left_out) {
  for (const bool is_tapped : {false, true}) {
    for (int asleep = 1; asleep <= 40; ++asleep) {
      for (const int dozed : {17, 24, 32, 50}) {
        SCOPED_TRACE(testing::Message() << asleep << " asleep, " << dozed << " dozed");
        reader_.open(kSlot);
        table_.length[kSlot] = 0;
        wake();
        commit(20);
        sleep(is_tapped);
        for (int i = 0; i < asleep; ++i) commit(1);
        doze();
        for (int i = 0; i < dozed; ++i) commit(1);
        wake();
        commit(1);
        const int base = 20 + asleep + dozed;
        const int first = round_up(std::max(base - 32, 20 + asleep) + 1, kPageTokens);
        expect_rows(first, base + 2);
        auto seen = kv_slots(1, kPageTokens);
        for (const std::int32_t slot : kv_slots(first, base + 2)) seen.push_back(slot);
        EXPECT_THAT(seen_by_last_row(), ElementsAreArray(seen));
      }
    }
  }
}

TEST_F(DraftReaderTest, who_wakes_all_of_a_sudden_reads_from_the_next_page_on) {
  reader_.open(kSlot);
  sleep(false);
  commit(20);  // a prompt
  for (int i = 0; i < 3; ++i) commit(1);
  wake();
  const Batch before = head_.last.batch;
  for (int i = 0; i < 8; ++i) {
    commit(1);
    EXPECT_EQ(reader_.sequence_of(kSlot), -1) << i;
  }
  commit(1);  // token 31; its root is the first of page 2
  expect_rows(32, 33);
  EXPECT_EQ(reader_.sequence_of(kSlot), 0);
  EXPECT_THAT(seen_by_last_row(), ElementsAreArray(kv_slots(32, 33)));
  commit(1);
  expect_rows(33, 34);
}

TEST_F(DraftReaderTest, a_prompt_that_goes_on_awake_is_read_from_a_whole_page_on) {
  reader_.open(kSlot);
  sleep(false);
  commit(20);
  wake();
  commit(30);
  expect_rows(32, 51);
  EXPECT_THAT(seen_by_last_row(), ElementsAreArray(kv_slots(32, 51)));
}

TEST_F(DraftReaderTest, what_follows_a_rest_of_40_tokens_goes_on_from_there) {
  rest_and_wake(20, 40);
  for (int i = 0; i < 20; ++i) {
    commit(1);
    const int length = table_.length[kSlot];
    // The root of the last step lies stored already.
    expect_rows(length, length + 1);
  }
  EXPECT_EQ(seen_by_last_row().size(), 15U + 81 + 1 - 32);
}

// A head that reads what leaves the target's last layer.
class EndReaderTest : public DraftReaderTest {
 protected:
  EndReaderTest() : DraftReaderTest(0, /*reads_ends=*/true) {}
};

// A target that nobody asked computes the ends of the rows that are sampled only.
TEST_F(EndReaderTest, rows_whose_ends_are_missing_are_passed_by) {
  for (const bool has_ends : {true, false}) {
    reader_.open(kSlot);
    table_.length[kSlot] = 0;
    is_tapped_ = has_ends;
    commit(20);
    EXPECT_EQ(reader_.sequence_of(kSlot), has_ends ? 0 : -1);
    if (has_ends) expect_rows(1, 21);
  }
}

class CarryingReaderTest : public DraftReaderTest {
 protected:
  CarryingReaderTest() : DraftReaderTest(kCarried) {}

  // Where nothing was carried: the feature of the token before, once for each head.
  static std::vector<float> stand_in(int slot) {
    std::vector<float> parts = feature_at(slot);
    const std::vector<float> again = parts;
    parts.insert(parts.end(), again.begin(), again.end());
    return parts;
  }
};

TEST_F(CarryingReaderTest, each_step_goes_on_from_the_root_of_the_last) {
  reader_.open(kSlot);
  commit(20);
  EXPECT_EQ(head_.last.carried, stand_in(0));
  for (const int count : {1, 3, 7, 1, 1, 16, 2}) {
    const int root = table_.length[kSlot];
    commit(count);
    expect_rows(root + 1, root + count + 1);
    EXPECT_EQ(head_.last.carried, carried_from(root));
  }
}

// Whoever finds the first pages goes on from them, whether their last token was read as text or as
// a root.
TEST_F(CarryingReaderTest, a_page_keeps_what_its_last_token_carries) {
  for (const std::vector<int>& steps :
       {std::vector{40}, std::vector{31, 1, 8}, std::vector{32, 8}, std::vector{30, 1, 1, 1, 7}}) {
    reader_.open(kSlot);
    table_.length[kSlot] = 0;
    for (const int count : steps) commit(count);
    for (const int shared : {2 * kPageTokens, kPageTokens}) {
      reader_.open(kSlot);
      table_.length[kSlot] = shared;
      commit(5);
      expect_rows(shared, shared + 6);
      EXPECT_EQ(head_.last.carried, carried_from(shared - 1));
    }
  }
}

TEST_F(CarryingReaderTest, a_short_rest_goes_on_where_it_began) {
  for (const int prompt : {20, 31, 32, 33})
    for (const int rest : {1, 12, 31}) {
      rest_and_wake(prompt, rest);
      EXPECT_EQ(head_.last.carried, carried_from(prompt - 1)) << prompt << ", " << rest;
    }
}

TEST_F(CarryingReaderTest, after_a_longer_rest_the_targets_feature_stands_in) {
  rest_and_wake(20, 50);
  const int first = round_up(70 - 31, kPageTokens);
  expect_rows(first, 72);
  EXPECT_EQ(head_.last.carried, stand_in(first - 1));
}

}  // namespace
}  // namespace foretoken::draft_reader_test
