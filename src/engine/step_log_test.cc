#include "engine/step_log.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(StepLog, prints_prefill_lines_as_sglang_does) {
  StepLog log(40);
  testing::internal::CaptureStderr();
  log.prefill(
      {.new_sequences = 2, .text_tokens = 192, .new_tokens = 128, .cached_tokens = 64},
      {.running = 3, .queued = 1, .used_tokens = 512, .total_tokens = 1024, .pending_tokens = 77});
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("Prefill batch, #new-seq: 2, #new-token: 128, #cached-token: 64, token "
                      "usage: 0.50, #running-req: 3, #queue-req: 1, #pending-token: 77, input "
                      "throughput (token/s): 0.00\n"),
            std::string::npos)
      << line;
}

TEST(StepLog, prints_decode_lines_as_sglang_does) {
  StepLog log(40);
  EngineStats totals;
  totals.generated_tokens = 40;
  totals.verify_steps = 40;
  testing::internal::CaptureStderr();
  EXPECT_GT(log.decode(totals, {.running = 1,
                                .queued = 0,
                                .used_tokens = 142,
                                .total_tokens = 1420,
                                .pending_tokens = 0}),
            0.0);
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_NE(line.find("Decode batch, #running-req: 1, #token: 142, token usage: 0.10, gen "
                      "throughput (token/s): "),
            std::string::npos)
      << line;
  EXPECT_NE(line.find(", #queue-req: 0\n"), std::string::npos) << line;
}

TEST(StepLog, tells_once_a_minute_why_little_is_drafted) {
  const auto start = StepLog::Clock::now();
  StepLog log(40);
  EngineStats totals;
  const auto line_after = [&](int seconds) {
    testing::internal::CaptureStderr();
    log.drafts(totals, start + std::chrono::seconds(seconds));
    return testing::internal::GetCapturedStderr();
  };
  totals.drafts.steps = 100;
  totals.drafts.drafted = 10;
  totals.drafts.rested = 90;
  totals.drafts.by_drafter[0] = {.proposed = 30, .accepted = 20};
  totals.proposed_drafts = 30;
  totals.accepted_drafts = 20;
  EXPECT_EQ(line_after(30), "");
  const std::string first = line_after(90);
  EXPECT_NE(first.find("Drafts: in 10 of 100 steps of requests, 20 of 30 tokens accepted: drafts "
                       "cost more than they saved.\n"),
            std::string::npos)
      << first;
  totals.drafts.steps = 150;
  totals.drafts.rested = 140;
  EXPECT_EQ(line_after(120), "");
  EXPECT_NE(line_after(151).find("in 0 of 50 steps"), std::string::npos);
  EXPECT_EQ(line_after(300), "") << "nothing decoded";
  totals.drafts.steps = 250;
  totals.drafts.drafted = 110;
  EXPECT_NE(line_after(400).find("in 100 of 100 steps of requests, 0 of 0 tokens accepted: drafts "
                                 "save time.\n"),
            std::string::npos);
  totals.drafts.steps = 350;
  totals.drafts.drafted = 210;
  EXPECT_EQ(line_after(500), "") << "as it should be, and said";
}

TEST(StepLog, tells_acceptance_since_the_last_line_once_something_was_proposed) {
  StepLog log(40);
  EngineStats totals;
  totals.verify_steps = 10;
  totals.proposed_drafts = 30;
  totals.accepted_drafts = 15;
  testing::internal::CaptureStderr();
  log.decode(totals, {});
  totals.verify_steps = 20;
  totals.proposed_drafts = 60;
  totals.accepted_drafts = 18;
  log.decode(totals, {});
  totals.verify_steps = 30;  // drafting rests
  log.decode(totals, {});
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_NE(lines.find("token usage: 0.00, accept len: 2.50, accept rate: 0.50, gen"),
            std::string::npos);
  EXPECT_NE(lines.find("token usage: 0.00, accept len: 1.30, accept rate: 0.10, gen"),
            std::string::npos);
  EXPECT_NE(lines.find("token usage: 0.00, accept len: 1.00, accept rate: 0.00, gen"),
            std::string::npos);
}

TEST(StepLog, a_decode_line_is_due_every_interval) {
  StepLog log(3);
  int due = 0;
  for (int i = 0; i < 9; ++i) due += log.count_decode_step() ? 1 : 0;
  EXPECT_EQ(due, 3);
}

}  // namespace
}  // namespace foretoken
