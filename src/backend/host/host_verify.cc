#include "backend/host/host_step.h"

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "batch/verify.h"

namespace foretoken {
namespace {

// One item of work: the walk of an entry's tree, or the score of one of its chain rows.
struct Job {
  int entry;
  int scored;     // index among the entry's scored rows; -1: the walk
  int logit_row;  // of the scored row or of the tree's root
};

// The token that follows chain row i of the entry.
Token next_token(const StepEntry& entry, const DraftTrees& trees, int i) {
  if (at(i) + 1 < entry.chain.size()) return entry.chain[at(i) + 1];
  return entry.has_tree ? trees.tokens(entry.slot)[0] : entry.after_chain;
}

using LogitsOf = std::function<std::span<float>(int row)>;

std::int64_t root_position(const Batch& batch, const Job& job) {
  const BatchSeq& seq = batch.seqs[at(job.entry)];
  return seq.base + seq.chain;
}

std::vector<Job> list_jobs(const StepPlan& plan, const DraftTrees& trees) {
  std::vector<Job> jobs;
  int logit_row = 0;
  for (std::size_t e = 0; e < plan.entries.size(); ++e) {
    const StepEntry& entry = plan.entries[e];
    const int scored = scored_rows(entry).size();
    for (int i = 0; i < scored; ++i) jobs.push_back({static_cast<int>(e), i, logit_row++});
    if (!entry.has_tree) continue;
    jobs.push_back({static_cast<int>(e), -1, logit_row});
    logit_row += trees.size(entry.slot);
  }
  return jobs;
}

// Logits of fewer tokens are sampled in the time that it takes to wake a worker.
constexpr std::int64_t kWorthSharing = 1 << 15;

// Where there are more workers than texts: draws the nodes that the walks will get to, several of a
// tree side by side.
void draw_ahead(ThreadPool& pool, const StepPlan& plan, const DraftTrees& trees, const Batch& batch,
                std::span<const Job> jobs, const LogitsOf& logits_of,
                std::vector<DrawnNodes>& drawn) {
  const int share = pool.size() / static_cast<int>(jobs.size());  // nodes of a tree at once
  if (share < 2) return;
  std::vector<std::pair<const Job*, int>> nodes;
  do {
    nodes.clear();
    for (const Job& job : jobs) {
      const StepEntry& entry = plan.entries[at(job.entry)];
      if (job.scored >= 0 || entry.constraint != nullptr || trees.size(entry.slot) == 1) continue;
      drawn[at(job.entry)].resize(at(trees.size(entry.slot)));
      for (const int node : nodes_ahead(entry, trees, drawn[at(job.entry)], share))
        nodes.emplace_back(&job, node);
    }
    pool.parallel_for(static_cast<int>(nodes.size()), [&](int item, int) {
      const auto& [job, node] = nodes[at(item)];
      drawn[at(job->entry)][at(node)] =
          draw_node(plan.entries[at(job->entry)], trees, root_position(batch, *job), node,
                    logits_of(job->logit_row + node));
    });
  } while (!nodes.empty());
}

}  // namespace

Walk verify_trees(ThreadPool& pool, const StepPlan& plan, const DraftTrees& trees,
                  const Batch& batch, Tensor logits) {
  const auto rows = static_cast<std::int64_t>(batch.logit_rows.size());
  if (rows == 0) return verify_rows(pool, plan, trees, batch, {});
  expect(logits, {rows, -1}, DType::kF32);
  const auto vocab = at(logits.dim(1));
  const auto logits_of = [&](int row) { return std::span(logits.row_f32(row), vocab); };
  return verify_rows(pool, plan, trees, batch,
                     {.vocab = logits.dim(1), .logits_of = logits_of, .drawn = {}});
}

Walk verify_rows(ThreadPool& pool, const StepPlan& plan, const DraftTrees& trees,
                 const Batch& batch, RowsToVerify rows) {
  Walk walk;
  walk.seqs.resize(plan.entries.size());
  for (std::size_t e = 0; e < plan.entries.size(); ++e) {
    walk.seqs[e].slot = plan.entries[e].slot;
    walk.seqs[e].scored.resize(at(scored_rows(plan.entries[e]).size()));
  }
  const std::vector<Job> jobs = list_jobs(plan, trees);
  if (jobs.empty()) return walk;
  const LogitsOf& logits_of = rows.logits_of;
  std::vector<DrawnNodes>& drawn = rows.drawn;
  drawn.resize(plan.entries.size());
  if (rows.vocab >= kWorthSharing) draw_ahead(pool, plan, trees, batch, jobs, logits_of, drawn);
  pool.parallel_for(static_cast<int>(jobs.size()), [&](int item, int) {
    const Job& job = jobs[at(item)];
    const StepEntry& entry = plan.entries[at(job.entry)];
    WalkSeq& seq = walk.seqs[at(job.entry)];
    if (job.scored >= 0) {
      const Token next = next_token(entry, trees, scored_rows(entry).begin + job.scored);
      seq.scored[at(job.scored)] = score_token(logits_of(job.logit_row), next, *entry.params);
      return;
    }
    WalkSeq found = walk_tree(
        entry, trees, root_position(batch, job),
        [&](int node) { return logits_of(job.logit_row + node); }, std::move(drawn[at(job.entry)]));
    seq.path = std::move(found.path);  // other jobs write the scores
    seq.emitted = std::move(found.emitted);
    seq.is_complete = found.is_complete;
    seq.is_stuck = found.is_stuck;
    seq.is_void = found.is_void;
    seq.foreseen = std::move(found.foreseen);
  });
  return walk;
}

}  // namespace foretoken
