#pragma once
// StepPace: the pace of all drafters of a batch. As a DraftPace it answers them; here it is told,
// step by step, what became of drafts and which trees come next. Who joins the trees (UnionDrafter)
// tells it; drafters do not. This one ignores all it is told. Engine thread only.
//
//   open  spare*                      a request enters a slot
//   credit_texts*  observe            what a step committed
//   (begin_forward  end_forward)*     drafters work
//   plant*  end_growth                the trees of the next step

#include "draft/draft_pace.h"
#include "draft/drafter.h"

namespace foretoken {

class StepPace : public DraftPace {
 public:
  virtual void open(SeqSlot) {}
  // For the request in the slot no model drafts; no drafter without a model does.
  virtual void spare(SeqSlot) {}
  virtual void spare_texts(SeqSlot) {}

  // Where one of the drafters runs a model: of the drafts in the slot's tree, `drafts` would have
  // been there without it, and `accepted` of those were accepted.
  virtual void credit_texts(SeqSlot slot, int drafts, int accepted) {
    (void)slot, (void)drafts, (void)accepted;
  }
  // The facts of a step, before any drafter does anything with them.
  virtual void observe(const CommittedRows&) {}

  // The slot has a tree with drafts; its scores sum up to `promised`.
  virtual void plant(SeqSlot slot, double promised) { (void)slot, (void)promised; }
  // All trees are planted.
  virtual void end_growth() {}

  // What drafters ask that run no model, beside one that runs one: their drafts cost and bring
  // something else.
  virtual DraftPace& texts() { return *this; }
};

}  // namespace foretoken
