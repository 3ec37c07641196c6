#include "engine/roster.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using std::chrono::seconds;

class RosterTest : public testing::Test {
 protected:
  Sequence& add(const std::string& id, std::optional<Roster::Clock::time_point> deadline = {}) {
    Request request;
    request.id = id;
    request.prompt = {1};
    request.deadline = deadline;
    request.stream = std::make_shared<TokenStream>();
    sequences_.push_back(std::make_unique<Sequence>(std::move(request), sequences_.size()));
    roster_.add(*sequences_.back());
    return *sequences_.back();
  }
  std::vector<std::string> ids(const std::vector<Sequence*>& found) const {
    std::vector<std::string> out;
    for (const Sequence* s : found) out.push_back(s->request.id);
    return out;
  }
  std::vector<std::string> overdue(int second) {
    std::vector<std::string> out;
    while (const auto due = roster_.next_overdue(start_ + seconds(second))) {
      out.push_back(due->sequence->request.id + ": " + due->message);
      roster_.remove(*due->sequence);
    }
    EXPECT_EQ(roster_.check_integrity(), "");
    return out;
  }

  const Roster::Clock::time_point start_ = Roster::Clock::now();
  Roster roster_{{.waiting = seconds(10), .running = seconds(20)}};
  std::vector<std::unique_ptr<Sequence>> sequences_;
};

using Ids = std::vector<std::string>;

TEST_F(RosterTest, an_id_means_its_choices_too_and_nobody_else) {
  for (const std::string id :
       {"req", "req_1", "req_12", "req_", "req_x", "req_1x", "req2", "re", ""})
    add(id);
  EXPECT_EQ(ids(roster_.named("req")), (Ids{"req", "req_1", "req_12"}));
  EXPECT_EQ(ids(roster_.named("req_1")), (Ids{"req_1"}));
  EXPECT_TRUE(roster_.named("").empty());
  EXPECT_TRUE(roster_.named("other").empty());
  roster_.remove(*sequences_[1]);
  EXPECT_EQ(ids(roster_.named("req")), (Ids{"req", "req_12"}));
}

TEST_F(RosterTest, an_id_used_twice_means_both) {
  add("a");
  add("a");
  EXPECT_EQ(roster_.named("a").size(), 2U);
  roster_.remove(*sequences_[0]);
  EXPECT_EQ(roster_.named("a"), (std::vector<Sequence*>{sequences_[1].get()}));
}

TEST_F(RosterTest, tells_each_cancellation_once_whenever_it_came) {
  Request early;
  early.id = "early";
  early.prompt = {1};
  early.stream = std::make_shared<TokenStream>();
  early.stream->cancel();
  Sequence cancelled_before(std::move(early), 100);
  roster_.add(cancelled_before);
  Sequence& a = add("a");
  add("b");
  EXPECT_EQ(ids(roster_.take_cancelled()), (Ids{"early"}));
  a.request.stream->cancel();
  a.request.stream->cancel();
  EXPECT_EQ(ids(roster_.take_cancelled()), (Ids{"a"}));
  EXPECT_TRUE(roster_.take_cancelled().empty());
}

TEST_F(RosterTest, who_has_ended_is_not_cancelled_any_more) {
  Sequence& removed = add("removed");
  removed.request.stream->cancel();
  roster_.remove(removed);
  EXPECT_TRUE(roster_.take_cancelled().empty());
}

TEST_F(RosterTest, a_stream_may_outlive_the_roster) {
  const auto stream = std::make_shared<TokenStream>();
  {
    Roster roster({});
    Request request;
    request.prompt = {1};
    request.stream = stream;
    Sequence s(std::move(request), 0);
    roster.add(s);
    roster.remove(s);
  }
  stream->cancel();
  EXPECT_TRUE(stream->cancelled());
}

TEST_F(RosterTest, deadlines_end_whoever_is_due) {
  add("late", start_ + seconds(9));
  add("early", start_ + seconds(3));
  add("never");
  EXPECT_EQ(overdue(2), Ids{});
  EXPECT_EQ(overdue(3), (Ids{"early: The request's deadline passed before it was finished."}));
  EXPECT_EQ(overdue(1000), (Ids{"late: The request's deadline passed before it was finished."}));
  EXPECT_EQ(roster_.size(), 1U);
}

TEST_F(RosterTest, waiting_and_running_have_limits_of_their_own) {
  Sequence& waits = add("waits");
  Sequence& runs = add("runs");
  Sequence& returns = add("returns");
  for (Sequence* s : {&waits, &runs, &returns}) roster_.waits(*s, start_);
  roster_.runs(runs, start_ + seconds(5));
  roster_.runs(returns, start_ + seconds(5));
  roster_.waits(returns, start_ + seconds(8));
  EXPECT_EQ(overdue(9), Ids{});
  EXPECT_EQ(overdue(10), (Ids{"waits: Request waiting timeout reached."}));
  EXPECT_EQ(overdue(18), (Ids{"returns: Request waiting timeout reached."}));
  EXPECT_EQ(overdue(24), Ids{});
  EXPECT_EQ(overdue(25), (Ids{"runs: Request running timeout reached."}));
}

TEST_F(RosterTest, without_limits_nobody_is_overdue) {
  Roster roster({});
  Request request;
  request.id = "a";
  request.prompt = {1};
  Sequence s(std::move(request), 0);
  roster.add(s);
  roster.waits(s, start_);
  roster.runs(s, start_);
  EXPECT_FALSE(roster.next_overdue(start_ + seconds(1000000)));
}

TEST_F(RosterTest, one_due_for_two_reasons_is_gone_with_the_first) {
  Sequence& s = add("both", start_ + seconds(10));
  roster_.waits(s, start_);
  EXPECT_EQ(overdue(10).size(), 1U);
  EXPECT_EQ(roster_.size(), 0U);
}

}  // namespace
}  // namespace foretoken
