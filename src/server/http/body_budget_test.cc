#include "server/http/body_budget.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

constexpr std::size_t kFree = BodyBudget::kFreeBytes, kMedium = BodyBudget::kMediumBytes;

TEST(BodyBudget, small_bodies_are_free_up_to_their_border) {
  const auto budget = std::make_shared<BodyBudget>(0);
  BodyClaim claim(budget);
  EXPECT_TRUE(claim.reserve(kFree));
  EXPECT_TRUE(claim.grow(kFree, 4 * kMedium));
  EXPECT_EQ(budget->used(), 0U);
  EXPECT_FALSE(claim.reserve(kFree + 1));
  EXPECT_FALSE(claim.grow(kFree + 1, kFree + 1));
}

TEST(BodyBudget, a_claim_takes_all_that_there_is_and_gives_it_back) {
  const auto budget = std::make_shared<BodyBudget>(kMedium);
  {
    BodyClaim claim(budget);
    EXPECT_TRUE(claim.reserve(kMedium));
    EXPECT_EQ(budget->used(), kMedium);
    EXPECT_FALSE(BodyClaim(budget).reserve(kFree + 1));
    BodyClaim moved(std::move(claim));
    EXPECT_EQ(budget->used(), kMedium);
    moved.release();
    EXPECT_EQ(budget->used(), 0U);
    moved.release();
  }
  EXPECT_EQ(budget->used(), 0U);
}

TEST(BodyBudget, a_quarter_is_kept_from_large_bodies) {
  const auto budget = std::make_shared<BodyBudget>(8 * kMedium);
  BodyClaim large(budget), medium(budget);
  EXPECT_FALSE(large.reserve(6 * kMedium + 1));
  EXPECT_TRUE(large.reserve(6 * kMedium));
  EXPECT_FALSE(medium.reserve(kMedium + 1));
  EXPECT_TRUE(medium.reserve(kMedium));
}

TEST(BodyBudget, what_grows_claims_twice_its_size_but_no_more_than_it_may_get) {
  const auto budget = std::make_shared<BodyBudget>(64 * kMedium);
  BodyClaim claim(budget);
  EXPECT_TRUE(claim.grow(kFree + 1, kMedium));
  EXPECT_EQ(budget->used(), 2 * (kFree + 1));
  EXPECT_TRUE(claim.grow(2 * (kFree + 1), kMedium));  // claimed before
  EXPECT_EQ(budget->used(), 2 * (kFree + 1));
  EXPECT_TRUE(claim.grow(kMedium - 1, kMedium));
  EXPECT_EQ(budget->used(), kMedium);
  EXPECT_TRUE(claim.grow(kMedium + 1, kMedium));  // more than was said
  EXPECT_EQ(budget->used(), kMedium + 1);
}

}  // namespace
}  // namespace foretoken
