#include "checkpoint/hub/patience.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

HubReply reply_with(const std::string& retry_after) {
  HubReply reply;
  if (!retry_after.empty()) reply.headers["retry-after"] = retry_after;
  return reply;
}

TEST(Patience, retry_after_is_seconds_or_a_date) {
  EXPECT_EQ(retry_after(reply_with("7"), 0), 7.0);
  EXPECT_EQ(retry_after(reply_with("100000"), 0), 600.0);
  constexpr std::int64_t kEight = 784111777 - 8;  // before the date below
  EXPECT_EQ(retry_after(reply_with("Sun, 06 Nov 1994 08:49:37 GMT"), kEight), 8.0);
  EXPECT_EQ(retry_after(reply_with("Sun, 06 Nov 1994 08:49:37 GMT"), 784111778), 0.0);
  for (const char* bad : {"", "-1", "soon", "1e9"})
    EXPECT_EQ(retry_after(reply_with(bad), 0), std::nullopt) << bad;
}

TEST(Patience, waits_double_until_something_arrives) {
  std::vector<double> waits;
  Patience patience(0.0001, [&](const std::string&, double seconds) { waits.push_back(seconds); });
  for (int i = 0; i < 3; ++i) patience.wait("it", "no");
  patience.restore();
  patience.wait("it", "no");
  patience.wait("it", "no", 0.0);
  EXPECT_THAT(waits, ElementsAre(DoubleEq(0.0001), DoubleEq(0.0002), DoubleEq(0.0004),
                                 DoubleEq(0.0001), 0.0));
}

TEST(Patience, ends) {
  Patience patience(0, {});
  try {
    for (;;) patience.wait("downloading x", "status 503");
  } catch (const Error& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("downloading x failed 8 times (status 503)"));
  }
}

TEST(Patience, only_passing_answers_are_asked_for_again) {
  int asked = 0;
  const auto answer = [&](std::vector<int> statuses) {
    Patience patience(0, {});
    asked = 0;
    return ask_patiently("it", patience,
                         [&] {
                           HubReply reply;
                           reply.status = statuses[static_cast<std::size_t>(asked++)];
                           return reply;
                         })
        .status;
  };
  EXPECT_EQ(answer({503, 429, 200}), 200);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(answer({404, 200}), 404);
  Patience patience(0, {});
  asked = 0;
  const auto fails = [&](bool was_connected) {
    return ask_patiently("it", patience, [&]() -> HubReply {
      ++asked;
      throw HubFault("gone", was_connected);
    });
  };
  EXPECT_THROW(fails(false), Error);
  EXPECT_EQ(asked, 1);
  EXPECT_THROW(fails(true), Error);
  EXPECT_EQ(asked, 9);
}

}  // namespace
}  // namespace foretoken
