#include "server/request/generation.h"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "server/routes/sglang/api.h"
#include "server/testing/metric_page.h"
#include "server/testing/server_fixture.h"
#include "server/testing/written_exchange.h"

namespace foretoken {
namespace {

// A request that came long ago, because it waited for a worker, and is answered now.
class LateGeneration : public ServerTest {
 protected:
  std::shared_ptr<WrittenExchange> ask(std::chrono::seconds ago, const std::string& body) {
    HttpRequest request;
    request.path = "/generate";
    request.body = body;
    request.arrived -= ago;
    auto exchange = std::make_shared<WrittenExchange>(std::move(request));
    handle_generate(context, exchange);
    asked_ = exchange;
    return exchange;
  }
  void TearDown() override { asked_->forget(); }
  MetricPage page() { return MetricPage(context.metrics.page({})); }

  ServerContext context{config, engine, &tokenizer(), &*chat_template()};

 private:
  std::shared_ptr<WrittenExchange> asked_;
};

TEST_F(LateGeneration, the_wait_for_a_worker_counts) {
  const auto exchange = ask(std::chrono::seconds(50), R"({"text":"a"})");
  ASSERT_TRUE(eventually([&] {
    exchange->run_posted();
    return exchange->answer.has_value();
  }));
  EXPECT_EQ(exchange->answer->status, 200);
  EXPECT_GE(page().value("time_to_first_token_seconds_sum"), 50);
  EXPECT_GE(page().value("e2e_request_latency_seconds_sum"), 50);
}

TEST_F(LateGeneration, also_of_a_client_that_leaves) {
  engine.pause(Pause::kInPlace).get();  // so that it leaves before the end
  const auto exchange = ask(std::chrono::seconds(50), R"({"text":"abc","stream":true})");
  exchange->run_posted();
  ASSERT_TRUE(exchange->closed);
  exchange->closed();
  EXPECT_EQ(page().value("e2e_request_latency_seconds_count"), 1);
  EXPECT_GE(page().value("e2e_request_latency_seconds_sum"), 50);
  EXPECT_EQ(page().value("prompt_tokens_total"), 3);
  EXPECT_EQ(page().value("num_aborted_requests_total"), 1);
}

}  // namespace
}  // namespace foretoken
