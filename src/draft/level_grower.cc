#include "draft/level_grower.h"

namespace foretoken {

std::size_t LevelGrower::add(const TreeShape& shape, const TreeLimits& limits, float least_score) {
  if (growing_.size() == size_) growing_.emplace_back();
  Growing& growing = growing_[size_];
  growing.growth.start(shape, limits, least_score);
  growing.has_rows = true;
  return size_++;
}

void LevelGrower::grow(LevelSource& source, DraftPace& pace) {
  if (size_ == 0) return;
  int level = 0;
  for (auto rows = static_cast<int>(size_); rows > 0; rows = choose_rows(pace))
    compute(level++, rows, source, pace);
}

void LevelGrower::compute(int level, int rows, LevelSource& source, DraftPace& pace) {
  pace.begin_forward(level == 0 ? DraftWork::kRoots : DraftWork::kLevel);
  source.compute(level, rows);
  for (std::size_t i = 0; i < size_; ++i) {
    if (!growing_[i].has_rows) continue;
    tokens_.clear();
    probabilities_.clear();
    source.list(i, tokens_, probabilities_);
    pace.rate(level, probabilities_);
    growing_[i].growth.add_level(tokens_, probabilities_);
  }
  pace.end_forward(rows);
}

// The rows of the next level; 0 where there are none, or they are not worth it.
int LevelGrower::choose_rows(const DraftPace& pace) {
  int rows = 0;
  double promised = 0;
  for (Growing& growing : growing()) {
    const TreeGrowth& growth = growing.growth;
    growing.has_rows =
        growing.has_rows && growth.levels() < growth.most_levels() && !growth.followed().empty();
    if (!growing.has_rows) continue;
    rows += static_cast<int>(growth.followed().size());
    for (const int candidate : growth.followed())
      promised += static_cast<double>(growth.score(candidate));
  }
  return rows > 0 && pace.is_level_worth(rows, promised) ? rows : 0;
}

}  // namespace foretoken
