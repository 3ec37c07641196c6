#include "bench/accept_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "base/log.h"
#include "base/seconds_since.h"
#include "bench/accept_report.h"
#include "bench/contender.h"
#include "bench/draft_methods.h"
#include "bench/prompt_file.h"

namespace foretoken {
namespace {

struct Lane {  // a method that runs
  std::shared_ptr<Contender> contender;
  MethodResult* result;
  std::size_t plain;   // the lane whose texts are right
  bool drafts = true;  // false: turned off by each request
};

// One request at a time, all lanes answer a prompt before any sees the next, so that a machine
// whose speed drifts is the same machine for all of them. Several at a time, a lane answers all
// prompts and hands over to the next. Each time in another order: what a lane finds of caches and
// clock speed is what the one before it has left.
class Race {
 public:
  Race(const AcceptOptions& options, int at_once, std::vector<Lane> lanes)
      : options_(options), at_once_(at_once), lanes_(std::move(lanes)) {}

  void run(const std::vector<BenchPrompt>& prompts) {
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      for (const Lane& lane : lanes_) lane.result->seconds.push_back(0.0);
      const bool is_first = repeat == 0;
      if (at_once_ > 1)
        run_together(prompts, is_first);
      else
        for (const BenchPrompt& prompt : prompts) run_conversation(prompt, is_first);
    }
  }

 private:
  void run_together(const std::vector<BenchPrompt>& prompts, bool is_first) {
    std::vector<std::vector<Answer>> answers(lanes_.size());
    for (const std::size_t n : order()) {
      const auto start = std::chrono::steady_clock::now();
      answers[n] = answer_together(lanes_[n], prompts);
      lanes_[n].result->seconds.back() = seconds_since(start);
    }
    for (std::size_t n = 0; n < lanes_.size(); ++n)
      for (std::size_t i = 0; i < prompts.size(); ++i)
        count(lanes_[n], answers[n][i], answers[lanes_[n].plain][i], is_first);
  }

  // Plain decoding comes first where its answers are told the others.
  std::vector<std::size_t> order() {
    std::vector<std::size_t> lanes(lanes_.size());
    std::iota(lanes.begin(), lanes.end(), 0U);
    std::ranges::shuffle(lanes, random_);
    if (options_.predicts)
      std::ranges::stable_partition(lanes, [&](std::size_t n) { return lanes_[n].plain == n; });
    return lanes;
  }

  AnswerOptions options_for(const Lane& lane) const {
    AnswerOptions options = options_.answers;
    options.drafts = lane.drafts;
    return options;
  }

  // Whenever a request is answered, the next one is sent.
  std::vector<Answer> answer_together(const Lane& lane, const std::vector<BenchPrompt>& prompts) {
    Contender& contender = *lane.contender;
    const AnswerOptions options = options_for(lane);
    std::vector<Answer> answers(prompts.size());
    std::atomic<std::size_t> next = 0;
    std::vector<std::future<void>> clients;
    for (int i = 0; i < at_once_; ++i)
      clients.push_back(std::async(std::launch::async, [&] {
        for (std::size_t n; (n = next++) < prompts.size();)
          answers[n] = contender.answer(contender.encode({prompts[n].turns.front()}), options);
      }));
    for (auto& client : clients) client.get();
    return answers;
  }

  // Every target goes on with its own plain answers.
  void run_conversation(const BenchPrompt& prompt, bool is_first) {
    std::vector<std::vector<std::string>> messages(lanes_.size());
    const std::size_t turns =
        std::min(prompt.turns.size(), static_cast<std::size_t>(options_.max_turns));
    for (std::size_t turn = 0; turn < turns; ++turn) {
      std::vector<Answer> answers(lanes_.size());
      for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (i == lanes_[i].plain) messages[i].push_back(prompt.turns[turn]);
      for (const std::size_t i : order()) {
        Contender& contender = *lanes_[i].contender;
        const bool predicts = options_.predicts && lanes_[i].drafts && i != lanes_[i].plain;
        answers[i] =
            contender.answer(contender.encode(messages[lanes_[i].plain]), options_for(lanes_[i]),
                             predicts ? answers[lanes_[i].plain].tokens : std::vector<Token>{});
        lanes_[i].result->seconds.back() += answers[i].seconds;
      }
      for (std::size_t i = 0; i < lanes_.size(); ++i)
        count(lanes_[i], answers[i], answers[lanes_[i].plain], is_first);
      for (std::size_t i = 0; i < lanes_.size(); ++i)
        if (i == lanes_[i].plain) {
          messages[i].push_back(lanes_[i].contender->text_of(answers[i].tokens));
          if (options_.is_verbose && is_first)
            fmt::print("> {}\n{}\n\n", prompt.turns[turn], messages[i].back());
        }
    }
  }

  void count(const Lane& lane, const Answer& answer, const Answer& plain, bool is_first) {
    MethodResult& result = *lane.result;
    const bool differs = !lane.result->is_simulated && answer.tokens != plain.tokens;
    if (differs && options_.is_verbose)
      fmt::print("{} DIFFERS: {}\n", result.name, lane.contender->text_of(answer.tokens));
    if (!is_first) {
      result.different_answers += differs ? 1 : 0;
      return;
    }
    ++result.answers;
    result.different_answers += differs ? 1 : 0;
    result.tokens += static_cast<long>(answer.tokens.size());
    result.verify_steps += answer.verify_steps;
    result.accepted_drafts += answer.accepted_drafts;
    result.proposed_drafts += answer.proposed_drafts;
  }

  const AcceptOptions& options_;
  const int at_once_;
  std::vector<Lane> lanes_;
  std::mt19937 random_;
};

// Opens what can run, with a result for each; says of the others why not.
std::vector<Lane> open_lanes(const std::vector<DraftMethod>& methods, const AcceptOptions& options,
                             int at_once, std::vector<MethodResult>& results) {
  std::vector<std::string> flags{"--max-running-requests", std::to_string(at_once)};
  for (const std::string& flag : words_of(options.flags)) flags.push_back(flag);
  if (options.threads > 0)
    flags.insert(flags.end(), {"--threads", std::to_string(options.threads)});
  std::vector<Lane> lanes;
  std::map<std::string, std::size_t> plain_lanes;  // by target
  results.reserve(2 * methods.size());             // lanes point to them
  for (const DraftMethod& method : methods) {
    MethodResult& result = results.emplace_back(
        MethodResult{.name = method.name, .model = method.model, .is_plain = !method.drafts()});
    result.is_simulated = std::ranges::count(method.flags, "--simulate-acc-len") > 0;
    if (const std::string missing = missing_for(method); !missing.empty()) {
      result.skipped = "there is no " + missing;
      continue;
    }
    std::fprintf(stderr, "Loading %s\n", method.name.c_str());
    if (!method.drafts()) plain_lanes[method.model] = lanes.size();
    const std::size_t plain = plain_lanes.at(method.model);
    const auto contender = std::make_shared<Contender>(method, flags);
    lanes.push_back({contender, &result, plain});
    if (!method.drafts() || !options.own_plain) continue;
    MethodResult& off = results.emplace_back(result);
    off.name += ", off";
    off.is_off = true;
    result.plain = results.size() - 1;
    lanes.push_back({contender, &off, plain, false});
  }
  return lanes;
}

}  // namespace

int accept_command(const AcceptOptions& options) {
  set_log_level(LogLevel::kWarning);
  auto prompts = read_prompts(options.prompts);
  if (options.limit > 0 && prompts.size() > static_cast<std::size_t>(options.limit))
    prompts.resize(static_cast<std::size_t>(options.limit));
  auto methods = options.model.empty() ? demo_methods(options.checkpoints)
                                       : methods_of(options.model, options.methods);
  methods = with_variants(methods, "--draft-budget", options.budgets);
  methods = with_variants(methods, "--draft-coupling", options.couplings);
  std::vector<std::vector<MethodResult>> results;  // by load
  bool differs = false;
  for (const int at_once : options.at_once) {
    auto& found = results.emplace_back();
    auto asked = prompts;
    while (!prompts.empty() && asked.size() < static_cast<std::size_t>(at_once))
      asked.push_back(prompts[asked.size() % prompts.size()]);
    Race(options, at_once, open_lanes(methods, options, at_once, found)).run(asked);
    if (options.at_once.size() > 1) fmt::print("{} at once\n", at_once);
    fmt::print("{}\n", format_results(found));
    std::fflush(stdout);
    differs |= std::ranges::any_of(found, [](const auto& r) { return r.different_answers > 0; });
  }
  if (results.size() > 1) fmt::print("{}", format_loads(options.at_once, results));
  return differs ? 1 : 0;
}

}  // namespace foretoken
