#pragma once
// LoneDrafter: one drafter without a union around it. Its pace is told of requests and steps as a
// UnionDrafter would tell it. For tests only.

#include <memory>
#include <utility>

#include "draft/drafter.h"
#include "draft/step_pace.h"

namespace foretoken {

class LoneDrafter final : public Drafter {
 public:
  LoneDrafter(std::unique_ptr<Drafter> drafter, std::shared_ptr<StepPace> pace)
      : drafter_(std::move(drafter)), pace_(std::move(pace)) {}

  DraftNeeds needs() const override { return drafter_->needs(); }
  FeatureTaps taps() const override { return drafter_->taps(); }
  void open(SeqSlot slot, const DraftRequest& request) override {
    pace_->open(slot);
    drafter_->open(slot, request);
  }
  void close(SeqSlot slot) override { drafter_->close(slot); }
  void observe(const CommittedRows& rows) override {
    pace_->observe(rows);
    drafter_->observe(rows);
  }
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override {
    drafter_->propose(slots, limits, trees);
    pace_->end_growth();
  }
  DraftReport report(SeqSlot slot) const override { return drafter_->report(slot); }
  void forget() override { drafter_->forget(); }

 private:
  const std::unique_ptr<Drafter> drafter_;
  const std::shared_ptr<StepPace> pace_;
};

}  // namespace foretoken
