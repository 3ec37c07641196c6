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
