#include "app/flags/flag_table.h"

namespace foretoken {

using enum FlagKind;

FlagGroup tune_own_flags() {
  return {
      "Tuning",
      {
          {.names = {"--prompts"},
           .text =
               "file of prompts: MT-bench's lines (turns), ShareGPT's (conversations), or lines "
               "with messages, prompt or text",
           .default_note = "24 of many kinds"},
          {.names = {"--batch-sizes"},
           .text = "requests at once to tune for, separated by commas",
           .default_value = "1,8,32"},
          {.names = {"--out"},
           .text = "folder for record.bin, costs.json, report.json and report.html",
           .default_value = "foretoken-tune"},
          {.names = {"--record-only"},
           .kind = kSwitch,
           .text = "write the record and nothing else"},
          {.names = {"--replay"},
           .text = "a record.bin to replay, instead of recording; with the costs in it unless "
                   "--costs is given"},
          {.names = {"--costs"},
           .text = "a costs.json, of another machine, say, instead of measuring"},
          {.names = {"--validate"},
           .kind = kInteger,
           .text = "run this many settings for real, and print predicted against real",
           .default_value = "0"},
          {.names = {"--rounds"},
           .kind = kInteger,
           .text = "rounds of a setting that is run for real; more of them scatter less",
           .default_value = "9"},
          {.names = {"--max-new-tokens"},
           .kind = kInteger,
           .text = "length of an answer",
           .default_value = "128"},
          {.names = {"--limit"},
           .kind = kInteger,
           .text = "use this many prompts, the first ones",
           .default_note = "all"},
          {.names = {"--turns"},
           .kind = kInteger,
           .text = "turns of a conversation",
           .default_value = "1"},
          {.names = {"--temperature"},
           .kind = kNumber,
           .text = "of the texts that are recorded; 0: greedy",
           .default_value = "0"},
          {.names = {"--record-steps"},
           .kind = kInteger,
           .text = "levels of the trees that can be replayed",
           .default_value = "8"},
          {.names = {"--record-topk"},
           .kind = kInteger,
           .text = "children of a node that can be replayed",
           .default_value = "8"},
          {.names = {"--measure-seconds"},
           .kind = kNumber,
           .text = "time to measure costs for each batch size",
           .default_value = "8"},
      }};
}

}  // namespace foretoken
