#pragma once
// RestChoice: whether anything is drafted at all, for each load, that is about so many sequences at
// once. Drafting has to gain more than it costs: it is told what every drafted step gained, in
// plain steps, and rests where the mean of that is a loss for sure. What rests is tried again from
// time to time, the more seldom the more often that was in vain. A load that comes for the first
// time rests if fewer sequences do: more of them make rows dearer, and drafts no better. While it
// does not rest, a step now and then is plain all the same, so that it stays known what a plain
// step takes.
// Where there are many sequences a trial begins with a few of them: what all would have gained is
// guessed from those, and only where that may be a gain are all tried. So it costs little to learn
// that drafts do not pay, and that they do is never decided by a guess. Not a clock. Engine thread
// only.

#include <vector>

namespace foretoken {

// The mean of what comes now: of all there was, until what is new contradicts it.
class CurrentMean {
 public:
  void add(double value);
  // What comes now may be as good as something else: all there was counts like a few values.
  void doubt();
  int count() const { return count_; }
  double mean() const { return mean_; }
  double error() const;  // of the mean, one standard deviation

 private:
  int count_ = 0;
  double mean_ = 0, variance_ = 0;
  double recent_ = 0;  // the same of the last few
};

class RestChoice {
 public:
  // Whether trials of many sequences begin with a few; else all are tried at once.
  explicit RestChoice(bool begins_with_few = false) : begins_with_few_(begins_with_few) {}

  // A step of the engine passed; the next one has so many sequences. True where that is another
  // load. A step in which nothing could be drafted does not count: it brings no trial nearer.
  bool add_step(int sequences, bool counts = true);
  bool rests() const;
  // Until what rests is tried again; 0: it does not rest, or but for one step.
  int steps_left() const;
  // Of how many sequences drafts are tried, now or after the rest; 0: of all.
  int few() const;
  // Whether the load has rested before, so that what was said meanwhile need not be known.
  bool has_rested() const;

  // What a step of the load that add_step was told last has gained: the plain steps that its tokens
  // would have taken, less those that it took itself.
  void add_gain(double steps);
  // The same while few are tried: what it would have gained had all been, and what it did gain.
  void add_guess(double of_all, double of_few);

 private:
  struct Load {
    bool is_known = false;  // something was said of it
    bool rests = false;
    bool tries_few = false;  // in the trial that is on, or in the next one
    int steps = 0;           // since that changed
    int drafted = 0;         // of them
    double lost = 0;         // by them, outliers cut
    double paid = 0;  // the same with the step that reads what went by unread in the rest before
    int pause = 0;    // steps until the next trial
    CurrentMean gain;
    CurrentMean guess;  // of the trial of few
  };
  void begin(std::size_t load);
  void rest(Load& load);

  const bool begins_with_few_;
  std::vector<Load> loads_;
  std::size_t now_ = 0;
  int sequences_ = 0;
};

}  // namespace foretoken
