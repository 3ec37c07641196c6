#include "base/host_names.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(HostNames, are_between_the_scheme_and_the_path) {
  EXPECT_EQ(host_of("http://a.example:80/v1/models"), "a.example:80");
  EXPECT_EQ(host_of("https://a.example"), "a.example");
  EXPECT_EQ(host_of("a.example:80"), "");
  EXPECT_EQ(name_of("a.example:80"), "a.example");
  EXPECT_EQ(name_of("[::1]:80"), "::1");
  EXPECT_EQ(name_of("::1"), "::1");
}

TEST(HostNames, of_this_machine_are_told_from_those_that_look_like_it) {
  for (const char* mine : {"127.0.0.1", "127.8.8.8", "::1", "localhost", "app.localhost"})
    EXPECT_TRUE(is_loopback(mine)) << mine;
  for (const char* other : {"127.0.0.1.example", "127.evil.example", "localhost.example",
                            "notlocalhost", "10.0.0.1", "::2", "0.0.0.0", "1127.0.0.1"})
    EXPECT_FALSE(is_loopback(other)) << other;
}

}  // namespace
}  // namespace foretoken
