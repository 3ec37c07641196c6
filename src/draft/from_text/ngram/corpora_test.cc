#include "draft/from_text/ngram/corpora.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(Corpora, come_and_go_by_name) {
  Corpora corpora(100);
  EXPECT_EQ(*corpora.add("b", {1, 2, kDocumentEnd, 3}), 3);
  EXPECT_EQ(*corpora.add("a", {1, 2}), 2);
  EXPECT_THAT(corpora.token_counts(), ElementsAre(Pair("a", 2), Pair("b", 3)));
  EXPECT_EQ(corpora.room(), 95);
  const auto seen = corpora.all();
  EXPECT_FALSE(corpora.remove("b"));
  EXPECT_EQ(corpora.room(), 98);
  EXPECT_EQ(corpora.all()->size(), 1U);
  EXPECT_EQ(seen->size(), 2U) << "who looks keeps what there was";
}

TEST(Corpora, empty_documents_take_no_memory) {
  Corpora corpora(100);
  EXPECT_EQ(*corpora.add("a", {kDocumentEnd, kDocumentEnd, 1, kDocumentEnd, kDocumentEnd, 2}), 2);
  const Corpus& corpus = *corpora.all()->front();
  EXPECT_EQ(corpus.at_place(0), 1);
  EXPECT_EQ(corpus.at_place(2), 2);
}

TEST(Corpora, refuse_what_cannot_be_by_name) {
  Corpora corpora(3);
  ASSERT_TRUE(corpora.add("a", {1, 2}));
  EXPECT_EQ(corpora.add("a", {1}).refusal().message,
            "External corpus 'a' already exists. Remove it first.");
  EXPECT_EQ(corpora.add("b", {kDocumentEnd}).refusal().message,
            "External corpus 'b' has no tokens.");
  EXPECT_EQ(corpora.add("b", {1, 2}).refusal().message,
            "External corpus 'b' has 2 tokens, which is more than the 1 that are left of "
            "--speculative-ngram-external-corpus-max-tokens (3).");
  EXPECT_EQ(corpora.remove("b")->message, "External corpus 'b' is not loaded.");
  EXPECT_EQ(corpora.room(), 1);
  EXPECT_TRUE(corpora.add("b", {1}));
}

TEST(Corpora, what_nobody_waits_for_is_given_up) {
  Corpora corpora(100);
  std::atomic<bool> is_over = true;
  EXPECT_EQ(corpora.add("a", {1, 2}, &is_over).refusal().message,
            "External corpus 'a': the server is shutting down.");
  EXPECT_EQ(corpora.room(), 100);
  is_over = false;
  EXPECT_TRUE(corpora.add("a", {1, 2}, &is_over));
}

TEST(Corpora, many_threads_may_add_and_look) {
  Corpora corpora(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&corpora, t] {
      for (int round = 0; round < 50; ++round) {
        const std::string name = std::to_string(t) + "/" + std::to_string(round % 3);
        if (!corpora.add(name, {1, 2, 3})) corpora.remove(name);
        const auto seen = corpora.all();  // the loop below would not keep a temporary
        for (const auto& corpus : *seen) EXPECT_EQ(corpus->num_tokens(), 3);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(1000 - corpora.room(), 3 * static_cast<std::int64_t>(corpora.all()->size()));
}

}  // namespace
}  // namespace foretoken
