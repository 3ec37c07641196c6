#pragma once
// MeasuredPace: drafts what pays on this machine and this text, by the clock: the costs of rows and
// of the draft model, and what became of drafts. Under load, or where drafts are poor, sequences
// rest, which is plain decoding. Engine thread only.

#include <functional>
#include <vector>

#include "spec/draft_pace.h"
#include "spec/linear_cost.h"
#include "spec/node_worth.h"
#include "spec/rest_choice.h"

namespace foretoken {

class MeasuredPace final : public DraftPace {
 public:
  using Clock = std::function<double()>;  // seconds since some moment

  explicit MeasuredPace(Clock clock = steady_seconds);

  void open(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  bool rests(SeqSlot slot) const override { return rest_.rests(slot); }
  void begin_forward() override;
  void end_forward(int rows) override;
  float least_score() const override { return worth_.least_score(); }
  bool is_level_worth(int rows, double promised) const override;
  void plant(SeqSlot slot, double promised, int level_rows) override;
  void end_growth() override;

  static double steady_seconds();

 private:
  struct Drafted {  // a tree that is being verified
    bool is_planted = false;
    double promised = 0;
    int level_rows = 0;
  };

  void count(const CommittedRows& rows, std::size_t i, int sequences);
  double cost(const Drafted& drafted, int nodes, int read_rows, int sequences) const;
  double plain_seconds(int sequences) const;

  const Clock clock_;
  NodeWorth worth_;
  RestChoice rest_;
  LinearCost step_;               // of the target, by rows of trees
  LinearCost forward_;            // of the draft model, by its rows
  std::vector<Drafted> drafted_;  // by slot
  int forwards_ = 0;              // of the draft model, for the trees that are being verified
  // What became of trees, as means per tree.
  double usual_cost_ = 0;      // seconds
  double usual_accepted_ = 0;  // tokens
  double grown_ = 0;           // when trees were complete; 0: none were
  double forward_begin_ = 0;
};

}  // namespace foretoken
