#include "draft/draft_report.h"

namespace foretoken {

void DraftReport::add(const DraftReport& other) {
  for (std::size_t i = 0; i < by_drafter.size(); ++i) by_drafter[i].add(other.by_drafter[i]);
  predictions.add(other.predictions);
  steps += other.steps;
  drafted += other.drafted;
  unwished += other.unwished;
  rested += other.rested;
  greedy_rows += other.greedy_rows;
  coupled_rows += other.coupled_rows;
}

DraftReport DraftReport::since(const DraftReport& before) const {
  DraftReport news = *this;
  const auto take = [](DraftTally& from, const DraftTally& tally) {
    from.proposed -= tally.proposed;
    from.accepted -= tally.accepted;
  };
  for (std::size_t i = 0; i < by_drafter.size(); ++i)
    take(news.by_drafter[i], before.by_drafter[i]);
  take(news.predictions, before.predictions);
  news.steps -= before.steps;
  news.drafted -= before.drafted;
  news.unwished -= before.unwished;
  news.rested -= before.rested;
  news.greedy_rows -= before.greedy_rows;
  news.coupled_rows -= before.coupled_rows;
  return news;
}

std::string_view DraftReport::reason() const {
  const std::int64_t plain = steps - drafted;
  if (plain <= drafted) return {};
  if (2 * unwished >= plain) return "request";
  DraftTally all;
  for (const DraftTally& tally : by_drafter) all.add(tally);
  // Where nothing was tried out on this request, it was others' drafts that did not pay.
  const bool came_true = 2 * all.accepted >= all.proposed;
  return 2 * rested >= plain && came_true ? "cost" : "acceptance";
}

}  // namespace foretoken
