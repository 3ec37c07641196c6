#pragma once
// BudgetChoice: how many nodes a tree should have, learned from what trees of each size have cost
// and brought on this machine and this text. A tree of one node is plain decoding, so drafting
// never stays slower than that. Not a drafter, and no clock: it is told seconds. What it answers
// changes speed only. Engine thread only.

#include <cstddef>
#include <vector>

namespace foretoken {

class BudgetChoice {
 public:
  // max_nodes: of a tree, root included; at least 1.
  explicit BudgetChoice(int max_nodes);

  // Nodes per tree, root included, for a step of so many sequences: the size of the highest known
  // rate of tokens, or now and then another one, to keep knowing. Trying others costs a small share
  // of the time.
  int choose(int sequences);

  // A step that verified trees of `nodes` nodes for all its sequences took so long.
  void add_step(int sequences, int nodes, double seconds);
  // Growing trees of `nodes` nodes for so many sequences took so long.
  void add_growth(int sequences, int nodes, double seconds);
  // The verification of one tree of `nodes` nodes emitted so many tokens.
  void add_tokens(int nodes, int tokens);

 private:
  // A mean that forgets, by the steps that pass and not by its samples: after a long time without,
  // a few new ones replace it.
  class Mean {
   public:
    void add(double x, double memory, double now);
    bool is_known() const { return samples_ >= 2; }
    double value() const { return value_; }
    double sampled_at() const { return sampled_at_; }

   private:
    int samples_ = 0;
    double weight_ = 0, value_ = 0, sampled_at_ = 0;
  };
  struct Cost {
    Mean step, growth;
    bool is_known() const { return step.is_known() && growth.is_known(); }
    double seconds() const { return step.value() + growth.value(); }
  };
  using Costs = std::vector<Cost>;  // by size

  std::size_t size_index(int nodes) const;
  Costs& costs(int sequences);
  // Fills rate_ and returns the highest of it.
  double rate_sizes(const Costs& costs);
  std::size_t next_to_try(const Costs& costs, std::size_t best) const;
  void account(const Costs& costs, std::size_t size, double seconds);

  std::vector<int> sizes_;    // ascending, the first is 1, the last the largest allowed
  std::vector<Mean> tokens_;  // by size
  std::vector<Costs> costs_;  // by class of batch sizes
  std::vector<double> rate_;  // by size: tokens per second of each sequence, 0 while unknown
  double now_ = 0;            // steps so far
  std::size_t tried_ = 0;     // size tried last
  int trials_left_ = 0;       // of that size
  double credit_ = 0;         // seconds that trying may waste
  bool has_started_ = false;
};

}  // namespace foretoken
