#include "bench/queue_command.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/log.h"
#include "bench/queue_rig.h"
#include "bench/report.h"

namespace foretoken {
namespace {

struct QueueOptions {
  QueueLoad load;
  std::string policy;
  int steps = 0;
  double limit_us = 0;
};

QueueOptions read_options(std::span<const std::string> args) {
  const FlagValues values = parse_flags(args, queue_flags());
  const auto from = [&](int least, std::string_view name) {
    return static_cast<int>(integer_within(values, name, least, 10'000'000));
  };
  QueueOptions options;
  options.load.waiting = from(1, "--waiting");
  options.load.document_tokens = from(kPageTokens, "--document");
  options.load.cached_pages = from(2000, "--cached-pages");
  options.load.running = from(1, "--running");
  options.steps = from(1, "--steps");
  options.limit_us = from(1, "--limit-us");
  options.policy = values.text("--schedule-policy");
  options.load.policy = options.policy == "lpm"      ? SchedulePolicy::kLpm
                        : options.policy == "random" ? SchedulePolicy::kRandom
                                                     : SchedulePolicy::kFcfs;
  return options;
}

// Median seconds of a step.
double measure(const QueueLoad& load, int steps) {
  QueueRig rig(load);
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) seconds.push_back(rig.step());
  return median(std::move(seconds));
}

}  // namespace

FlagTable queue_flags() {
  using enum FlagKind;
  const auto number = [](std::string_view name, std::string_view text, std::string_view usual) {
    Flag flag;
    flag.names = {name};
    flag.kind = kInteger;
    flag.text = text;
    flag.default_value = usual;
    return flag;
  };
  return {{"Queue",
           {
               number("--waiting", "requests that wait", "10000"),
               number("--document", "tokens that their prompts have in common", "50000"),
               number("--cached-pages", "pages of earlier texts", "100000"),
               number("--running", "requests that decode", "32"),
               {.names = {"--schedule-policy"},
                .text = "order of the queue",
                .default_value = "fcfs",
                .choices = {"fcfs", "lpm", "random"}},
               number("--steps", "steps of each kind, of which medians are printed", "200"),
               number("--limit-us", "what the queue may add to a step", "200"),
           }}};
}

int queue_command(std::span<const std::string> args) {
  const QueueOptions options = read_options(args);
  set_log_level(LogLevel::kWarning);
  struct Scene {
    QueueScene scene;
    const char* name;
    int without;  // how many wait at least, for there to be such a step
  };
  const Scene scenes[] = {
      {QueueScene::kSlotsFull, "all slots taken", 0},
      {QueueScene::kPagesShort, "pages in use", 0},
      {QueueScene::kPrefixComing, "document being computed", 0},
      {QueueScene::kOneLeaves, "one admitted in each step", options.steps},
  };
  fmt::print("{} waiting on {} tokens, {} cached pages, {} running, {}\n\n", options.load.waiting,
             options.load.document_tokens, options.load.cached_pages, options.load.running,
             options.policy);
  fmt::print("{:<28} {:>12} {:>12} {:>10}\n", "us per step beside the model", "few waiting",
             "all waiting", "added");
  bool is_within = true;
  for (const Scene& scene : scenes) {
    QueueLoad load = options.load;
    load.scene = scene.scene;
    load.waiting = scene.without;
    const double few = measure(load, options.steps) * 1e6;
    load.waiting = options.load.waiting;
    const double all = measure(load, options.steps) * 1e6;
    fmt::print("{:<28} {:>12.1f} {:>12.1f} {:>10.1f}\n", scene.name, few, all, all - few);
    is_within = is_within && all - few < options.limit_us;
  }
  return is_within ? 0 : 1;
}

}  // namespace foretoken
