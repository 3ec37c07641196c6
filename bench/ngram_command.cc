#include "bench/ngram_command.h"

#include <vector>

#include <fmt/format.h>

#include "bench/author.h"
#include "bench/report.h"
#include "draft/from_text/ngram/ngram_growth.h"

namespace foretoken {
namespace {

constexpr int kDepth = 18, kDrafts = 15, kRounds = 9, kSteps = 200;

struct Load {
  int sequences, tokens;  // at once; accepted in a step
  NgramShape::Order order;
};

// Medians over rounds, each of some steps of all sequences.
void measure(NgramTrie& trie, std::vector<Token>& told, const Load& load) {
  std::vector<NgramTrie::Cursor> cursors(at(load.sequences));
  std::vector<Author> authors;
  for (std::size_t i = 0; i < cursors.size(); ++i) {
    cursors[i].start(i % 4);
    authors.emplace_back(100 + i, told);
  }
  NgramShape shape;
  shape.order = load.order;
  NgramGrowth growth(shape);
  DraftList list;
  std::vector<double> reading, growing;
  std::vector<Token> tokens;
  long drafts = 0;
  for (int round = 0; round < kRounds; ++round) {
    double read = 0, grown = 0;
    for (int step = 0; step < kSteps; ++step) {
      tokens.clear();
      for (Author& author : authors)
        for (int n = 0; n < load.tokens; ++n) tokens.push_back(author.next());
      const double start = thread_microseconds();
      for (std::size_t n = 0; n < tokens.size(); ++n)
        trie.append(cursors[n / at(load.tokens)], tokens[n]);
      const double middle = thread_microseconds();
      for (const NgramTrie::Cursor& cursor : cursors) {
        list.clear();
        growth.grow(trie, cursor, kDrafts, kDrafts, list);
        drafts += static_cast<long>(list.size());
      }
      read += middle - start;
      grown += thread_microseconds() - middle;
    }
    reading.push_back(read / kSteps / load.sequences);
    growing.push_back(grown / kSteps / load.sequences);
  }
  fmt::print(
      "{:>4} sequences, {:>2} tokens a step, {}: read {:>6.2f} us, tree {:>6.2f} us, {:.1f} "
      "drafts\n",
      load.sequences, load.tokens, load.order == NgramShape::Order::kNewest ? "BFS " : "PROB",
      median(reading), median(growing),
      static_cast<double>(drafts) / kRounds / kSteps / load.sequences);
}

}  // namespace

int ngram_command() {
  for (const std::int64_t nodes : {1'000'000L, 10'000'000L}) {
    NgramTrie trie(nodes, kDepth);
    std::vector<Token> told;
    Author author(1, told);
    NgramTrie::Cursor cursor;
    std::uint64_t scope = 0;
    const double start = thread_microseconds();
    while (trie.size() < nodes - 1) {
      if (told.size() % 5000 == 0) cursor.start(scope++ % 4);
      trie.append(cursor, author.next());
    }
    fmt::print("{} nodes, {:.2f} GB, filled with {} tokens, {:.2f} us each\n", nodes,
               static_cast<double>(NgramTrie::bytes_for(nodes)) / 1e9, told.size(),
               (thread_microseconds() - start) / static_cast<double>(told.size()));
    for (const auto order : {NgramShape::Order::kNewest, NgramShape::Order::kMostFrequent})
      for (const int sequences : {1, 8, 64})
        for (const int tokens : {1, 4, 16}) measure(trie, told, {sequences, tokens, order});
  }
  return 0;
}

}  // namespace foretoken
