// Many concurrent streams with random cancellations and deadlines, directly on the engine: no
// request is lost, no page leaks, memory stays flat. By default a short run on a tiny model;
// --seconds=60 --model=FOLDER for the long one.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/log.h"
#include "engine/engine.h"
#include "engine/testing/guess_drafter.h"
#include "engine/testing/tiny_model.h"
#include "model/decoder/load.h"
#include "model/runner.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double seconds = 4;
  int streams = 256;
  std::string model;  // empty: a tiny random one
};
Options options;  // set by main before any test runs

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::unique_ptr<Decoder> load(Ops& ops) {
  ModelOptions how;
  how.show_progress = false;
  if (!options.model.empty()) return load_model(ops, options.model, how);
  return std::make_unique<Decoder>(ops, tiny_model(512, 512), *dummy_weights(1), DType::kBF16);
}

// One consumer that keeps many streams busy and treats them badly.
class Crowd {
 public:
  Crowd(Engine& engine, std::int64_t vocab) : engine_(engine), vocab_(vocab) {
    for (int i = 0; i < 8; ++i) beginnings_.push_back(text(number(0, 100)));
    clients_.resize(static_cast<std::size_t>(options.streams));
  }

  void run(double seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      for (Client& client : clients_) serve(client);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void finish_all() {
    is_closing_ = true;
    for (Client& client : clients_)
      while (client.stream) {
        serve(client);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
  }

  struct Ends {
    int complete = 0, cancelled = 0, late = 0, failed = 0;
  };
  const Ends& ends() const { return ends_; }
  const std::string& first_failure() const { return first_failure_; }

 private:
  struct Client {
    std::shared_ptr<TokenStream> stream;
    int patience = 0;  // tokens after which it hangs up
    int received = 0;
    int wanted = 0;
  };

  int number(int low, int high) {  // both included
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::vector<Token> text(int size) {
    std::vector<Token> tokens;
    for (int i = 0; i < size; ++i)
      tokens.push_back(static_cast<Token>(random_() % static_cast<std::uint64_t>(vocab_)));
    return tokens;
  }

  void start(Client& client) {
    Request request;
    request.id = "soak-" + std::to_string(++requests_);
    request.prompt = beginnings_[random_() % beginnings_.size()];
    for (const Token token : text(number(1, 60))) request.prompt.push_back(token);
    request.max_new_tokens = client.wanted = number(1, 120);
    request.sampling.temperature = static_cast<float>(number(0, 1));
    request.sampling.seed = random_();
    request.sampling.top_k = number(0, 1) ? 20 : -1;
    if (number(0, 3) == 0) request.sampling.repetition_penalty = 1.1F;
    if (number(0, 3) == 0) request.logprob_start = 0;
    if (number(0, 19) == 0)
      request.deadline = Clock::now() + std::chrono::milliseconds(number(0, 300));
    request.stream = client.stream = std::make_shared<TokenStream>();
    client.received = 0;
    client.patience = number(0, 2) == 0 ? number(0, 60) : 1 << 20;
    const auto refusal = engine_.submit(std::move(request));
    ASSERT_FALSE(refusal) << refusal->message;
    if (number(0, 30) == 0) engine_.abort("soak-" + std::to_string(requests_));
  }

  void serve(Client& client) {
    if (!client.stream) return is_closing_ ? void() : start(client);
    const auto delta = client.stream->take();
    if (!delta) return;
    client.received += static_cast<int>(delta->tokens.size());
    if (client.received >= client.patience) client.stream->cancel();
    if (!delta->finish) return;
    count(*delta->finish, client);
    client.stream.reset();
  }

  void count(const Finish& finish, const Client& client) {
    switch (finish.reason) {
      case FinishReason::kStop:
      case FinishReason::kLength:
        EXPECT_EQ(client.received, client.wanted);
        ++ends_.complete;
        return;
      case FinishReason::kCancelled:
        ++ends_.cancelled;
        return;
      case FinishReason::kDeadline:
        ++ends_.late;
        return;
      case FinishReason::kOutOfMemory:
      case FinishReason::kShutdown:
      case FinishReason::kDisplaced:
      case FinishReason::kStuck:
      case FinishReason::kVoid:
        ++ends_.failed;
        first_failure_ = finish.message;
    }
  }

  Engine& engine_;
  std::int64_t vocab_;
  std::mt19937_64 random_{5};
  std::vector<std::vector<Token>> beginnings_;
  std::vector<Client> clients_;
  std::uint64_t requests_ = 0;
  bool is_closing_ = false;
  Ends ends_;
  std::string first_failure_;
};

TEST(Soak, many_streams_with_random_cancellations_lose_and_leak_nothing) {
  ThreadPool threads(0, false);
  const auto ops = make_backend({}, threads);
  const auto decoder = load(*ops);
  EngineConfig config;
  config.max_running_requests = 128;
  config.total_tokens = 1600;  // far too few for all, so some are preempted
  config.context_length = 400;
  config.chunked_prefill_size = 128;
  config.policy = SchedulePolicy::kLpm;
  Runner runner(*ops, *decoder, config.total_tokens / kPageTokens);
  GuessDrafter drafter({.max_nodes = 4,
                        .depth = 3,
                        .topk = 2,
                        .truth = 0.0,
                        .vocab = static_cast<Token>(runner.vocab()),
                        .seed = 1},
                       {});
  Engine engine(config, *ops, runner, drafter);
  engine.start();
  Crowd crowd(engine, runner.vocab());

  crowd.run(options.seconds / 2);
  EXPECT_EQ(engine.check_integrity().get(), "");
  const std::size_t warm = resident_bytes();
  crowd.run(options.seconds / 2);
  const std::size_t end = resident_bytes();
  EXPECT_EQ(engine.check_integrity().get(), "");
  crowd.finish_all();

  const auto& ends = crowd.ends();
  EXPECT_EQ(ends.failed, 0) << crowd.first_failure();
  EXPECT_GT(ends.complete, 0);
  EXPECT_GT(ends.cancelled, 0);
  EXPECT_EQ(engine.check_integrity().get(), "");
  EXPECT_TRUE(engine.flush_cache().get());
  engine.stop(std::chrono::milliseconds(0));
  const EngineStats stats = engine.stats();
  EXPECT_EQ(stats.used_tokens, 0);
  EXPECT_EQ(stats.cached_tokens, 0);
  EXPECT_EQ(stats.finished_requests, static_cast<std::uint64_t>(ends.complete));
  EXPECT_EQ(stats.aborted_requests, static_cast<std::uint64_t>(ends.cancelled + ends.late));
  // Room for what the allocator keeps; a leak of a few bytes per token would exceed it in a minute.
  EXPECT_LT(end, warm + (std::size_t{8} << 20));
  std::cout << ends.complete << " complete, " << ends.cancelled << " cancelled, " << ends.late
            << " late; " << stats.generated_tokens << " tokens, " << stats.cached_prompt_tokens
            << " of " << stats.prompt_tokens << " prompt tokens cached, " << stats.retractions
            << " retractions; resident " << (warm >> 10) << " KiB, then " << (end >> 10)
            << " KiB\n";
}

}  // namespace
}  // namespace foretoken

// Read by the address sanitizer, where it is linked in: freed memory is kept aside for a while
// only, since that looks like a leak.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=2"; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto& options = foretoken::options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string value = argument.substr(std::min(argument.find('=') + 1, argument.size()));
    if (argument.starts_with("--seconds=")) {
      options.seconds = std::atof(value.c_str());
    } else if (argument.starts_with("--streams=")) {
      options.streams = std::atoi(value.c_str());
    } else if (argument.starts_with("--model=")) {
      options.model = value;
    } else {
      std::cerr << "unknown argument " << argument
                << "; known: --seconds=S --streams=N --model=FOLDER and GoogleTest's own\n";
      return 2;
    }
  }
  foretoken::set_log_level(foretoken::LogLevel::kWarning);
  return RUN_ALL_TESTS();
}
