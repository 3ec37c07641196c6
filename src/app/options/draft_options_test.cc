#include <string>

#include <gtest/gtest.h>

#include "app/testing/resolve.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/suffix/suffix_options.h"

namespace foretoken {
namespace {

TEST(Options, drafts_lower_the_default_of_running_requests) {
  const auto options = resolve({"--speculative-algorithm", "STANDALONE"});
  EXPECT_EQ(options.engine.max_running_requests, 48);
  EXPECT_TRUE(options.warnings.empty());
  ASSERT_EQ(options.notes.size(), 1U);
  EXPECT_EQ(options.notes[0],
            "Max running requests is reset to 48 for speculative decoding. You can override this "
            "by explicitly setting --max-running-requests.");
  EXPECT_TRUE(resolve({"--speculative-algorithm", "STANDALONE", "--max-running-requests", "7"})
                  .notes.empty());
}

TEST(Options, drafts_are_refused_by_name) {
  EXPECT_EQ(usage_error({"--speculative-algorithm", "MAGIC"}),
            "Unknown speculative algorithm name: MAGIC");
  EXPECT_NE(usage_error({"--speculative-algorithm", "dspark"}).find("not supported yet"),
            std::string::npos);
  EXPECT_NE(usage_error({"--speculative-draft", "/usr"}).find("--speculative-algorithm"),
            std::string::npos);
  EXPECT_NE(usage_error({"--speculative-num-steps", "0"}).find("at least 1"), std::string::npos);
  EXPECT_EQ(usage_error({"--speculative-draft-window-size", "-4"}),
            "--speculative-draft-window-size must be positive, got -4.");
}

TEST(Options, ngram_flags_are_checked_as_sglang_does) {
  const auto fault = [](const std::string& flag, const std::string& value) {
    return usage_error({"--speculative-algorithm", "ngram", "--speculative-ngram-" + flag, value});
  };
  EXPECT_NE(fault("max-trie-depth", "1").find("2 to 256"), std::string::npos);
  EXPECT_NE(fault("min-bfs-breadth", "0").find("1 to"), std::string::npos);
  EXPECT_NE(fault("min-bfs-breadth", "11").find("at most --speculative-ngram-max-bfs-breadth (10)"),
            std::string::npos);
  EXPECT_NE(fault("min-match-window-size", "13").find("max-match-window-size (12)"),
            std::string::npos);
  EXPECT_NE(fault("match-type", "LUCK").find("BFS"), std::string::npos);
  EXPECT_NE(fault("capacity", "9").find("22 to"), std::string::npos);
  EXPECT_NE(fault("external-corpus-path", "texts.jsonl").find("external-sam-budget: expected 1 to"),
            std::string::npos);
  EXPECT_NE(fault("external-sam-budget", "-1").find("0 to"), std::string::npos);
  EXPECT_NE(fault("external-corpus-max-tokens", "0").find("1 to"), std::string::npos);
}

TEST(Options, the_documented_ngram_command_is_understood) {
  const auto options = resolve(
      {"--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "16",
       "--speculative-ngram-max-match-window-size", "12", "--speculative-ngram-max-bfs-breadth",
       "10", "--cuda-graph-max-bs", "8", "--mem-fraction-static", "0.8", "--log-level", "warning"});
  EXPECT_EQ(options.draft.algorithm, "NGRAM");
  EXPECT_EQ(options.draft.nodes, 16);
  EXPECT_TRUE(options.warnings.empty()) << options.warnings.front();
}

TEST(Options, forced_greedy_verification_belongs_to_ngram) {
  Environment environment;
  environment.greedy_variables = {"SGLANG_NGRAM_FORCE_GREEDY_VERIFY"};
  const auto with = resolve({"--speculative-algorithm", "ngram"}, environment);
  EXPECT_TRUE(with.engine.greedy);
  EXPECT_TRUE(with.notes.empty()) << with.notes.front();
  EXPECT_TRUE(resolve({"--speculative-algorithm", "NEXTN+NGRAM"}, environment).engine.greedy);
  EXPECT_FALSE(resolve({"--speculative-algorithm", "NGRAM"}).engine.greedy);
  for (const auto& args : std::vector<std::vector<std::string>>{
           {}, {"--speculative-algorithm", "SUFFIX"}, {"--speculative-algorithm", "NEXTN"}}) {
    const auto without = resolve(args, environment);
    EXPECT_FALSE(without.engine.greedy);
    ASSERT_FALSE(without.notes.empty());
    EXPECT_EQ(without.notes.back(),
              "environment variable SGLANG_NGRAM_FORCE_GREEDY_VERIFY has no effect without "
              "--speculative-algorithm NGRAM");
  }
}

TEST(Options, a_window_that_the_trie_cannot_hold_is_named) {
  const auto warnings = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--speculative-algorithm", "NGRAM"});
    return resolve(flags).warnings;
  };
  const auto cut = warnings({"--speculative-ngram-max-match-window-size", "40"});
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_NE(cut[0].find("--speculative-ngram-max-match-window-size 40 is more than "
                        "--speculative-ngram-max-trie-depth 18 leaves room for: at most 17"),
            std::string::npos)
      << cut[0];
  EXPECT_TRUE(warnings({"--speculative-ngram-max-match-window-size", "17"}).empty());
  EXPECT_TRUE(warnings({"--speculative-ngram-max-trie-depth", "8"}).empty());
}

TEST(Options, ngram_flags_without_ngram_are_named) {
  const auto options = resolve({"--speculative-ngram-capacity", "5000"});
  ASSERT_EQ(options.warnings.size(), 1U);
  EXPECT_NE(options.warnings[0].find("no effect without --speculative-algorithm NGRAM"),
            std::string::npos);
}

TEST(Options, suffix_flags_are_checked) {
  const auto fault = [](const std::string& flag, const std::string& value) {
    return usage_error(
        {"--speculative-algorithm", "suffix", "--speculative-suffix-" + flag, value});
  };
  EXPECT_NE(fault("max-tree-depth", "1").find("2 to 255"), std::string::npos);
  EXPECT_NE(fault("max-tree-depth", "256").find("2 to 255"), std::string::npos);
  EXPECT_NE(fault("max-cached-requests", "-1").find("0 to"), std::string::npos);
  EXPECT_NE(fault("max-spec-factor", "-0.5").find("0 to 1000"), std::string::npos);
  EXPECT_NE(fault("min-token-prob", "1.5").find("0 to 1"), std::string::npos);
  EXPECT_NE(fault("min-token-prob", "nan").find("min-token-prob"), std::string::npos);
  EXPECT_NE(fault("capacity", "0").find("1 to"), std::string::npos);
  EXPECT_NE(fault("isolation", "all").find("shared"), std::string::npos);
  const auto options =
      resolve({"--speculative-suffix-capacity", "5000", "--speculative-algorithm", "none"});
  ASSERT_EQ(options.warnings.size(), 1U);
  EXPECT_NE(options.warnings[0].find("no effect without --speculative-algorithm SUFFIX"),
            std::string::npos);
}

TEST(Options, several_algorithms_are_one_model_and_any_texts) {
  const auto options =
      resolve({"--speculative-algorithm", "ngram+standalone+SUFFIX", "--speculative-ngram-capacity",
               "1000", "--speculative-suffix-capacity", "1000"});
  EXPECT_EQ(options.draft.algorithm, "NGRAM+STANDALONE+SUFFIX");
  EXPECT_EQ(options.engine.max_running_requests, 48) << "a model drafts";
  EXPECT_TRUE(options.warnings.empty()) << "all flags have an effect";
  EXPECT_NE(usage_error({"--speculative-algorithm", "EAGLE+STANDALONE"})
                .find("one drafter runs a model at most"),
            std::string::npos);
  EXPECT_NE(usage_error({"--speculative-algorithm", "NGRAM+ngram"}).find("NGRAM is named twice"),
            std::string::npos);
  EXPECT_EQ(usage_error({"--speculative-algorithm", "NGRAM+"}),
            "an empty name among several (--speculative-algorithm): found NGRAM+");
}

TEST(Options, a_head_that_comes_with_the_target_needs_no_folder) {
  const auto options = resolve({"--speculative-algorithm", "NEXTN"});
  EXPECT_EQ(options.draft.algorithm, "EAGLE");
  EXPECT_EQ(options.draft.folder, "");
  EXPECT_EQ(options.draft.target_folder, options.load.model_folder);
}

TEST(Options, who_drafts_is_chosen_by_the_target_unless_it_is_said) {
  const auto algorithm = [](const std::string& model, std::vector<std::string> args) {
    args.insert(args.end(), {"--model", model});
    return resolve_options(parse_flags(args, serve_flags()), {}).draft.algorithm;
  };
  const std::string models = FORETOKEN_SOURCE_DIR "/models/";
  EXPECT_EQ(algorithm(models + "demo", {}), "SUFFIX");
  EXPECT_EQ(algorithm(models + "demo-mimo", {}), "EAGLE+SUFFIX");
  EXPECT_EQ(algorithm(models + "demo-mimo", {"--speculative-algorithm", "Auto"}), "EAGLE+SUFFIX");
  EXPECT_EQ(algorithm(models + "demo-mimo", {"--speculative-algorithm", "none"}), "");
  EXPECT_EQ(algorithm(model_folder(), {}), "SUFFIX");  // loading says what is wrong with it
  EXPECT_EQ(usage_error({"--speculative-draft-model-path", model_folder()}),
            "--speculative-draft-model-path: expected --speculative-algorithm beside it, found "
            "'" +
                model_folder() + "' alone");
  EXPECT_NE(usage_error({"--speculative-algorithm", "auto+NGRAM"}), "no error");
}

TEST(Options, acceptance_is_simulated_by_sglangs_variables_too) {
  Environment environment;
  environment.simulate_acc_len = "-1";
  EXPECT_EQ(resolve({}, environment).simulation.length, 0.0);
  environment.simulate_acc_len = "2.5";
  environment.simulate_acc_method = "multinomial";
  EXPECT_EQ(resolve({}, environment).simulation.length, 2.5);
  EXPECT_EQ(resolve({}, environment).simulation.method, AcceptanceSimulation::Method::kMultinomial);
  EXPECT_EQ(resolve({"--simulate-acc-len", "4"}, environment).simulation.length, 4.0);
  environment.simulate_acc_method = "poisson";
  EXPECT_THROW(resolve({}, environment), UsageError);
  environment.simulate_acc_len = "2,5";
  EXPECT_THROW(resolve({}, environment), UsageError);
  EXPECT_NE(usage_error({"--simulate-acc-len", "0.5"}).find("expected at least 1, found 0.5"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken
