#include <algorithm>

#include "backend/host/host_step.h"
#include "base/index.h"
#include "batch/lanes.h"

namespace foretoken {
namespace {

// A row of logits in the order of the target's tokens.
void spread(std::span<const float> logits, std::span<const Token> ids, std::span<float> out) {
  if (ids.empty()) {
    std::ranges::copy(logits.first(out.size()), out.begin());
    return;
  }
  std::ranges::fill(out, kMinusInfinity);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= 0) out[at(ids[i])] = logits[i];
}

}  // namespace

void draw_rows(ThreadPool& pool, const Tensor& logits, std::span<const Token> ids, Tensor scratch,
               std::span<const DrawRow> rows, int k, DrawnTokens& out) {
  expect(logits, {-1, -1}, DType::kF32);
  out.found.resize(rows.size() * at(k));
  constexpr std::size_t kJudged = DrawnTokens::kJudged;
  out.judged.resize(rows.size() * kJudged);
  const std::size_t width = at(logits.dim(1)), vocab = at(scratch.dim(1));
  pool.parallel_for(static_cast<int>(rows.size()), [&](int item, int worker) {
    const DrawRow& row = rows[at(item)];
    const std::span own(scratch.row_f32(worker), vocab);
    spread({logits.row_f32(row.row), width}, ids, own);
    draw_candidates(own, row.context, row.noise_share,
                    std::span(out.found).subspan(at(item) * at(k), at(k)),
                    std::span(out.judged).subspan(at(item) * kJudged, row.is_judged ? kJudged : 0));
  });
}

}  // namespace foretoken
