#pragma once
// What tuning does with models that are loaded for it: record, measure, run a setting for real.
// Each loads a host, uses it, and lets it go. Throw Error; used by one thread.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/host/text_host.h"
#include "app/options/options.h"
#include "app/options/tune_options.h"
#include "tune/engine_session.h"
#include "tune/prompt_texts.h"
#include "tune/record_file.h"
#include "tune/replay.h"
#include "tune/settings.h"

namespace foretoken {

// Of a model and of its draft model, as the options have them; what depends on loading is open.
RecordIdentity identity_of(const Options& options, const TuneOptions& tune);

// Throws Error where the record is of another model, draft model or tokenizer.
void check_identity(const RecordIdentity& record, const RecordIdentity& here,
                    const std::string& path);

using OnShare = std::function<void(double)>;  // of the work: 0 to 1

// Writes texts and candidates, turn by turn; the answers that were there when `stop` came are kept.
void record(const Options& options, const TuneOptions& tune, const TextHost& text,
            const std::vector<PromptText>& prompts, RecordIdentity identity,
            const std::string& path, const std::atomic<bool>& stop, const OnShare& on_share);

// A host whose drafter tries trees of all sizes below the texts of a record, so many at once, to
// see what steps cost.
class CostProbe {
 public:
  CostProbe(const Options& options, const SettingBase& base, const Record& record, int at_once);
  ~CostProbe();

  // Works for about so many seconds; what is seen adds to what was.
  void work(double seconds, const std::atomic<bool>& stop, const OnShare& on_share);
  // All that was seen since the last call.
  StepCosts take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A host that answers the prompts of a record with one setting.
class RealRun {
 public:
  RealRun(const Options& options, const TuneSetting& setting, const Record& record, int at_once);
  ~RealRun();

  struct Result {
    double seconds = 0;
    std::int64_t tokens = 0, steps = 0, accepted = 0;
  };
  // All prompts once more.
  Result run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
