#pragma once
// Replay: what an engine would have done with a setting, computed from a record: the drafters of
// the setting are the real ones (the one that runs a model is a ReplayDrafter), the texts come as
// they were recorded, in steps planned as the scheduler does with so many slots and an empty prefix
// cache. Accept lengths are those of a real run, to the digit, at temperature 0 and for the seeds
// of the record; seconds are what measured costs make of its rows. Pure functions, but for the
// memory of drafters.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "draft/catalogue/draft_options.h"
#include "draft/drafter.h"
#include "draft/step_pace.h"
#include "tune/record.h"
#include "tune/step_costs.h"

namespace foretoken {

// A way of drafting.
struct TuneSetting {
  std::string name;
  DraftOptions draft;  // no algorithm: plain decoding
  DraftPlan plan;
  std::vector<std::string> flags;  // that ask for it on the command line

  bool drafts() const { return !draft.algorithm.empty(); }
};

struct ReplayResult {
  struct Tally {
    std::int64_t steps = 0, accepted = 0;
    double accept_length() const {
      return steps == 0 ? 1 : 1 + static_cast<double>(accepted) / static_cast<double>(steps);
    }
  };
  struct Depth {  // of walks that came so far: how many had a draft there, how many accepted it
    std::int64_t offered = 0, accepted = 0;
  };

  Tally all;  // of steps that verify: those that end a prompt are none
  std::int64_t proposed = 0;
  std::int64_t tokens = 0;
  std::int64_t rows = 0;  // of trees
  std::vector<Depth> depths;
  std::map<std::string, Tally> categories;
  std::int64_t unanswered = 0;  // rows that the record lacks; above 0 the figures are a lower bound
  double seconds = 0;           // 0: no costs were given
  double drafting_seconds = 0;

  double accept_length() const { return all.accept_length(); }
  double tokens_per_second() const {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
  }
};

struct ReplayOptions {
  int at_once = 1;
  const StepCosts* costs = nullptr;
  int chunked_prefill_size = 512;
  int max_prefill_tokens = 16384;
  std::shared_ptr<StepPace> pace = nullptr;  // null: the setting's
  // Sees every tree that was grown: of which text, below which of its tokens.
  std::function<void(std::uint32_t text, int token, const DraftTrees& trees, SeqSlot slot)>
      on_tree = {};
};

// Whether the record can say anything about the setting; else throws Error.
void check_answers(const RecordIdentity& identity, const TuneSetting& setting);

ReplayResult replay(const Record& record, const TuneSetting& setting, const ReplayOptions& options);

}  // namespace foretoken
