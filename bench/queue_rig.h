#pragma once
// QueueRig: a scheduler with a full prefix cache, some requests that decode and many that wait on
// one long document, driven step by step without a model. Not the engine: no threads and no inbox.

#include <memory>
#include <string>
#include <vector>

#include "engine/scheduler.h"

namespace foretoken {

// What keeps the waiting requests waiting.
enum class QueueScene {
  kSlotsFull,     // as many run as may
  kPagesShort,    // slots are free; almost all cached pages are in use
  kPrefixComing,  // slots are free; a running request is computing the document
  kOneLeaves,     // a slot becomes free in every step, and one of them takes it
};

struct QueueLoad {
  QueueScene scene = QueueScene::kSlotsFull;
  SchedulePolicy policy = SchedulePolicy::kFcfs;
  int waiting = 10000;
  int document_tokens = 50000;
  int cached_pages = 100000;
  int running = 32;
};

class QueueRig {
 public:
  explicit QueueRig(const QueueLoad& load);

  // Seconds of this thread that planning and retiring one step take.
  double step();

 private:
  void cache_text(int pages);
  void add(std::vector<Token> prompt, int max_new_tokens, int logprob_start = -1);
  StepResult make_up_result(const StepPlan& plan);

  const QueueLoad load_;
  const EngineConfig config_;
  PagePool pool_;
  RadixCache cache_;
  Scheduler scheduler_;
  std::vector<Page> held_;                             // what other requests would hold
  std::vector<std::shared_ptr<TokenStream>> talking_;  // streams that get tokens
  Token next_ = 0;
};

}  // namespace foretoken
