#include "bench/sample_command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend/host/host_step.h"
#include "base/index.h"
#include "base/rng.h"
#include "base/threads.h"
#include "batch/row_loops.h"
#include "batch/sampling.h"
#include "bench/author.h"
#include "bench/report.h"

namespace foretoken {
namespace {

constexpr std::size_t kVocab = 128256;
constexpr int kSampleRounds = 41, kRows = 8;

// Like those of a language model: a bell, and a few tokens that stand out.
std::vector<float> row_of(std::uint64_t seed) {
  std::vector<float> row(kVocab);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::uint64_t word = mix_seed(seed, i);
    const float u = static_cast<float>((word >> 40) + 1) * 0x1p-24F;
    const float v = static_cast<float>(word & 0xffffff) * 0x1p-24F;
    row[i] = 2.5F * std::sqrt(-2 * std::log(u)) * std::cos(6.2831853F * v);
  }
  for (std::size_t i = 0; i < 8; ++i)
    row[mix_seed(seed, kVocab + i) % kVocab] = 18 - static_cast<float>(i);
  return row;
}

struct Case {
  std::string name;
  SamplingParams params;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, float temperature, int top_logprobs) -> SamplingParams& {
    all.push_back({name, {}});
    all.back().params.temperature = temperature;
    all.back().params.top_logprobs = top_logprobs;
    return all.back().params;
  };
  add("greedy", 0, -1);
  add("greedy, logprob", 0, 0);
  add("T = 1", 1, -1);
  add("T = 1, logprob", 1, 0);
  add("T = 0.8", 0.8F, -1);
  add("T = 1, top_p 0.9", 1, -1).top_p = 0.9F;
  SamplingParams& both = add("both of 40 and 0.9", 0.8F, -1);
  both.top_k = 40;
  both.top_p = 0.9F;
  return all;
}

// Microseconds of a row, the median of rounds; the rows are other ones than those of the round
// before, as the rows of a step are.
double measure(const Case& one, const std::vector<std::vector<float>>& rows) {
  std::vector<double> times;
  std::vector<std::vector<float>> copies;
  for (int round = 0; round < kSampleRounds; ++round) {
    copies = rows;
    const double start = thread_microseconds();
    for (std::size_t i = 0; i < copies.size(); ++i)
      sample_row(copies[i], {.params = &one.params, .position = round});
    times.push_back((thread_microseconds() - start) / static_cast<double>(copies.size()));
  }
  return median(times);
}

// A tree of 16 nodes of which a walk visits six, one below the other.
constexpr int kNodes = 16, kVisited = 6;
DraftTrees tree_of_walk() {
  DraftTrees trees(1, kNodes);
  trees.plant(0, 1);
  for (int n = 1; n < kNodes; ++n)
    trees.grow(0, n < kVisited ? n - 1 : n % kVisited, static_cast<Token>(100 + n),
               n < kVisited ? 1.0F - 0.1F * static_cast<float>(n) : 0.1F);
  return trees;
}

// Microseconds of a walk, the median of rounds.
double measure_walk(ThreadPool& pool, const SamplingParams& params,
                    std::vector<std::vector<float>> rows) {
  const DraftTrees trees = tree_of_walk();
  std::vector<float> logits;
  for (int n = 0; n < kNodes; ++n) {
    std::vector<float>& row = rows[at(n) % rows.size()];
    logits.insert(logits.end(), row.begin(), row.end());
    if (n + 1 < kVisited) logits[at(n) * kVocab + at(trees.tokens(0)[at(n + 1)])] = 60;
  }
  SeqTable table(1);
  table.pages[0] = {0, 1};
  StepPlan plan;
  plan.entries.push_back({.slot = 0, .has_tree = true, .params = &params});
  Batch batch;
  layout_rows(plan, trees, table, batch);
  std::vector<float> copy = logits;
  std::vector<double> times;
  for (int round = 0; round < kSampleRounds; ++round) {
    // Columns lie where a product left them, in the caches of those who computed them.
    pool.parallel_for(pool.size(), [&](int part, int) {
      const std::size_t cols = kVocab / at(pool.size()), first = at(part) * cols;
      for (std::size_t row = 0; row < kNodes; ++row)
        std::copy_n(&logits[row * kVocab + first], cols, &copy[row * kVocab + first]);
    });
    const auto start = std::chrono::steady_clock::now();
    verify_trees(pool, plan, trees, batch,
                 Tensor(copy.data(), DType::kF32, {kNodes, std::int64_t{kVocab}}));
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  return median(times);
}

}  // namespace

int sample_command() {
  std::vector<std::vector<float>> rows;
  for (std::uint64_t i = 0; i < kRows; ++i) rows.push_back(row_of(i));
  fmt::print("{:18}", "us per row");
  for (const RowLoops& loops : all_row_loops()) fmt::print("{:>10}", loops.isa);
  fmt::print("\n");
  for (const Case& one : cases()) {
    fmt::print("{:18}", one.name);
    for (const RowLoops& loops : all_row_loops()) {
      choose_row_loops(loops);
      fmt::print("{:10.0f}", measure(one, rows));
    }
    fmt::print("\n");
  }
  choose_row_loops(all_row_loops().back());
  ThreadPool alone(1), all;
  fmt::print("\n{:18}{:>10}{:>10}\n", "us per walk of 6", "1 worker",
             fmt::format("{} workers", all.size()));
  for (const Case& one : cases())
    fmt::print("{:18}{:10.0f}{:10.0f}\n", one.name, measure_walk(alone, one.params, rows),
               measure_walk(all, one.params, rows));
  return 0;
}

}  // namespace foretoken
