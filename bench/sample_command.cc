#include "bench/sample_command.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/rng.h"
#include "batch/row_loops.h"
#include "batch/sampling.h"
#include "bench/author.h"
#include "bench/report.h"

namespace foretoken {
namespace {

constexpr std::size_t kVocab = 128256;
constexpr int kRounds = 41, kRows = 8;

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
  for (int round = 0; round < kRounds; ++round) {
    copies = rows;
    const double start = thread_microseconds();
    for (std::size_t i = 0; i < copies.size(); ++i)
      sample_row(copies[i], {.params = &one.params, .position = round});
    times.push_back((thread_microseconds() - start) / static_cast<double>(copies.size()));
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
  return 0;
}

}  // namespace foretoken
