#include "bench/suffix_command.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "bench/author.h"
#include "bench/report.h"
#include "draft/from_text/suffix/suffix_answers.h"
#include "draft/from_text/suffix/suffix_growth.h"

namespace foretoken {
namespace {

constexpr int kDepth = 24, kDrafts = 24, kRounds = 9, kSteps = 200, kScopes = 4;
constexpr std::size_t kAnswer = 500;  // tokens
constexpr int kWork = 2048;           // of a step

struct Writer {
  SuffixTrees::Id root = 0;
  SuffixTrees::TextId text = 0;
  SuffixTrees::Cursor in_answers;
  std::vector<Token> answer;
};

// Medians over rounds, each of some steps of all sequences: what the drafter does with the tokens
// of a step, the drafts for the next one, and remembering answers that have ended.
void measure(SuffixTrees& trees, SuffixAnswers& answers, std::vector<Token>& told, int sequences,
             int tokens) {
  std::vector<Writer> writers(at(sequences));
  std::vector<Author> authors;
  for (std::size_t i = 0; i < writers.size(); ++i) authors.emplace_back(100 + i, told);
  const auto start = [&](Writer& writer, std::size_t i) {
    writer.root = trees.plant();
    writer.text = trees.begin(writer.root);
    writer.in_answers.start(answers.root_of(i % kScopes));
    writer.answer.clear();
  };
  for (std::size_t i = 0; i < writers.size(); ++i) start(writers[i], i);
  SuffixGrowth growth({});
  std::vector<double> reading, growing, keeping;
  std::vector<Token> said;
  long drafts = 0;
  for (int round = 0; round < kRounds; ++round) {
    double read = 0, grown = 0, kept = 0;
    for (int step = 0; step < kSteps; ++step) {
      said.clear();
      for (Author& author : authors)
        for (int n = 0; n < tokens; ++n) said.push_back(author.next());
      const double begin = thread_microseconds();
      for (std::size_t n = 0; n < said.size(); ++n) {
        Writer& writer = writers[n / at(tokens)];
        trees.append(writer.text, said[n]);
        trees.advance(writer.in_answers, said[n]);
        writer.answer.push_back(said[n]);
      }
      const double was_read = thread_microseconds();
      for (const Writer& writer : writers) {
        const std::array<SuffixGrowth::Source, 2> sources{
            {{&trees.end_of(writer.text), 1}, {&writer.in_answers, 0}}};
        drafts += static_cast<long>(growth.grow(trees, sources, kDrafts).size());
      }
      const double was_grown = thread_microseconds();
      for (std::size_t i = 0; i < writers.size(); ++i) {
        if (writers[i].answer.size() < kAnswer) continue;
        while (!trees.fell(writers[i].root, kWork)) continue;
        trees.release(writers[i].text);
        answers.add(i % kScopes, writers[i].answer);
        start(writers[i], i);
      }
      answers.work(kWork);
      read += was_read - begin;
      grown += was_grown - was_read;
      kept += thread_microseconds() - was_grown;
    }
    reading.push_back(read / kSteps / sequences);
    growing.push_back(grown / kSteps / sequences);
    keeping.push_back(kept / kSteps / sequences);
  }
  fmt::print(
      "{:>4} sequences, {:>2} tokens a step: read {:>6.2f} us, drafts {:>6.2f} us, answers "
      "{:>6.2f} "
      "us; {:.1f} drafts\n",
      sequences, tokens, median(reading), median(growing), median(keeping),
      static_cast<double>(drafts) / kRounds / kSteps / sequences);
  for (Writer& writer : writers) {
    while (!trees.fell(writer.root, kWork)) continue;
    trees.release(writer.text);
  }
}

}  // namespace

int suffix_command() {
  for (const std::int64_t nodes : {1'000'000L, 10'000'000L}) {
    const std::int64_t capacity = nodes + nodes / 10;  // a token takes a node or two
    SuffixTrees trees(capacity, kDepth);
    SuffixAnswers answers(trees, 1'000'000, capacity / 8);
    std::vector<Token> told;
    Author author(1, told);
    const double start = thread_microseconds();
    for (std::uint64_t scope = 0; trees.nodes() < nodes; ++scope) {
      std::vector<Token> text(kAnswer);
      for (Token& token : text) token = author.next();
      const double before = static_cast<double>(trees.nodes());
      answers.add(scope % kScopes, std::move(text));
      while (answers.work(kWork) <= 0) continue;
      if (static_cast<double>(trees.nodes()) <= before) break;  // the oldest leave
    }
    fmt::print("{} nodes of {} tokens, {:.2f} GB, {:.2f} us each\n", trees.nodes(), trees.tokens(),
               static_cast<double>(SuffixTrees::bytes_for(capacity, kDepth)) / 1e9,
               (thread_microseconds() - start) / static_cast<double>(told.size()));
    for (const int sequences : {1, 8, 64})
      for (const int tokens : {1, 4, 16}) measure(trees, answers, told, sequences, tokens);
  }
  return 0;
}

}  // namespace foretoken
