#include "server/context/session_store.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using std::chrono::seconds;

TEST(SessionStore, a_session_is_closed_when_it_was_idle_for_too_long) {
  const auto store = std::make_shared<SessionStore>();
  const SessionStore::Clock::time_point start{};
  EXPECT_FALSE(store->open("short", false, seconds(10), start));
  EXPECT_FALSE(store->open("for good", false, std::nullopt, start));
  EXPECT_TRUE(store->open("short", false, std::nullopt, start + seconds(10))) << "it is open";
  EXPECT_EQ(store->size(), 2U);
  EXPECT_FALSE(store->open("other", false, seconds(10), start + seconds(11)));
  EXPECT_EQ(store->size(), 2U);
  EXPECT_FALSE(store->open("short", false, std::nullopt, start + seconds(11)));
  EXPECT_TRUE(store->open("for good", false, std::nullopt, start + seconds(100'000)));
}

}  // namespace
}  // namespace foretoken
