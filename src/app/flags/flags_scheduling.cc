#include "app/flags/flag_table.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {

std::vector<Flag> memory_flags() {
  return {
      {.names = {"--mem-fraction-static"},
       .kind = kNumber,
       .text = "share of the usable memory for weights and KV cache, between 0 and 1",
       .default_note = "computed"},
      {.names = {"--max-total-tokens"},
       .kind = kInteger,
       .text = "tokens in the KV cache",
       .default_note = "what the memory holds"},
      {.names = {"--page-size"},
       .kind = kInteger,
       .support = kNoEffect,
       .text = "a page always holds 16 tokens, as the kernels want it; cached tokens come in whole "
               "pages",
       .default_value = "16"},
      {.names = {"--disable-radix-cache"},
       .kind = kSwitch,
       .text = "reuse no prefix of earlier texts"},
      {.names = {"--max-mamba-cache-size"},
       .kind = kInteger,
       .text = "states of earlier texts that the prefix cache holds, of models whose layers keep "
               "states",
       .default_note = "2 for each of --max-running-requests, and 8"},
      {.names = {"--radix-eviction-policy"},
       .support = kRefused,
       .text = "not supported yet: the least recently used text goes first",
       .default_value = "lru",
       .choices = {"lru"}},
      {.names = {"--swa-full-tokens-ratio"},
       .kind = kNumber,
       .support = kNoEffect,
       .text = "layers with a sliding window share the pages of the others",
       .default_value = "0.8"},
      {.names = {"--enable-hierarchical-cache"},
       .kind = kSwitch,
       .support = kRefused,
       .text = "not supported yet: the KV cache lives in memory only"},
      {.names = {"--enable-memory-saver"},
       .kind = kSwitch,
       .support = kRefused,
       .text = "not supported yet: memory is held until the server ends"},
  };
}

std::vector<Flag> batch_flags() {
  return {
      {.names = {"--max-running-requests"},
       .kind = kInteger,
       .text = "requests in one batch at most",
       .default_value = "64"},
      {.names = {"--max-queued-requests"},
       .kind = kInteger,
       .text = "waiting requests at most; more are refused with 503",
       .default_note = "no limit"},
      {.names = {"--chunked-prefill-size"},
       .kind = kInteger,
       .text = "rows of one step shared by prompt chunks and decodes; -1: prompts in one piece",
       .default_value = "512"},
      {.names = {"--max-prefill-tokens"},
       .kind = kInteger,
       .text = "prompt tokens of one step at most",
       .default_value = "16384"},
      {.names = {"--prefill-max-requests"},
       .kind = kInteger,
       .support = kRefused,
       .text = "not supported yet: --max-prefill-tokens limits the prompts of a step"},
      {.names = {"--schedule-policy"},
       .text =
           "order of the queue: first come first served, longest cached prefix first, or random",
       .default_value = "fcfs",
       .choices = {"fcfs", "lpm", "random"},
       .refused_choices = {"dfs-weight", "lof", "priority", "routing-key"},
       .refused_reason = "not supported yet: the policies are fcfs, lpm and random"},
      {.names = {"--schedule-conservativeness"},
       .kind = kNumber,
       .support = kRefused,
       .text = "not supported yet: the memory kept for answers to come adapts itself",
       .default_value = "1.0",
       .choices = {"1.0", "1"}},
      {.names = {"--retraction-policy"},
       .support = kRefused,
       .text = "not supported yet: the youngest request is preempted"},
      {.names = {"--enable-mixed-chunk"},
       .kind = kSwitch,
       .support = kNoEffect,
       .text = "prompt chunks and decodes share a batch always"},
      {.names = {"--num-continuous-decode-steps"},
       .kind = kInteger,
       .support = kNoEffect,
       .text = "every step is scheduled",
       .default_value = "1"},
      {.names = {"--overlap-schedule"},
       .text = "plan the next step while one is computed; auto: where SGLANG_ENABLE_SPEC_V2 asks",
       .default_value = "auto",
       .choices = {"auto", "on", "off"}},
      {.names = {"--disable-overlap-schedule"},
       .kind = kSwitch,
       .text = "the same as --overlap-schedule off"},
      {.names = {"--enable-priority-scheduling"},
       .kind = kSwitch,
       .text = "requests of higher `priority` are served first, with --schedule-policy fcfs"},
      {.names = {"--schedule-low-priority-values-first"},
       .kind = kSwitch,
       .text = "the lowest `priority` is the most urgent"},
      {.names = {"--priority-scheduling-preemption-threshold"},
       .kind = kInteger,
       .text = "a request that waits takes the place of running ones whose priority is lower by "
               "more than this",
       .default_value = "10"},
      {.names = {"--disable-priority-preemption"},
       .kind = kSwitch,
       .text = "running requests keep their place, whatever waits"},
      {.names = {"--default-priority-value"},
       .kind = kInteger,
       .text = "priority of requests that name none",
       .default_note = "they go last"},
      {.names = {"--abort-on-priority-when-disabled"},
       .kind = kSwitch,
       .text = "refuse a `priority` where it is not served, instead of ignoring it"},
      {.names = {"--allow-auto-truncate"},
       .kind = kSwitch,
       .text = "cut a prompt that is too long instead of refusing it"},
      {.names = {"--random-seed"},
       .kind = kInteger,
       .text = "seed of requests that name none, of dummy weights, and of --schedule-policy random",
       .default_note = "random"},
      {.names = {"--watchdog-timeout"},
       .kind = kNumber,
       .support = kNoEffect,
       .text = "there is no device that could hang",
       .default_value = "300"},
  };
}

}  // namespace

FlagGroup scheduling_flags() {
  FlagGroup group{"Memory and scheduling", memory_flags()};
  const auto more = batch_flags();
  group.flags.insert(group.flags.end(), more.begin(), more.end());
  return group;
}

}  // namespace foretoken
