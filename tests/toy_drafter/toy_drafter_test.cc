// A drafter is one file and one line. All code that iterates the table finds the toy drafter
// (repeat_drafter.cc, table_line.cc); none names it.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/flags/flag_help.h"
#include "app/host/model_host.h"
#include "app/options/resolve_options.h"
#include "base/log.h"
#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/plan_drafts.h"
#include "engine/testing/answers.h"
#include "tune/settings.h"

namespace foretoken {
namespace {

using testing::Contains;
using testing::HasSubstr;

Options resolve(std::vector<std::string> args) {
  const std::string demo = FORETOKEN_SOURCE_DIR "/models/demo";
  args.insert(args.end(), {"--model-path", std::filesystem::exists(demo) ? demo : "/tmp"});
  return resolve_options(parse_flags(args, serve_flags()), Environment{});
}

std::string fault(const std::vector<std::string>& args) {
  try {
    resolve(args);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ToyDrafter, its_help_and_its_flag_are_among_the_programs) {
  const std::string help = help_text(serve_flags());
  EXPECT_THAT(help, HasSubstr("--speculative-repeat-tokens N"));
  EXPECT_THAT(std::string(algorithm_help()), HasSubstr("REPEAT: the end of the text once more"));
}

TEST(ToyDrafter, its_flag_is_checked_and_shapes_its_trees) {
  const auto nodes = [](const std::vector<std::string>& flags) {
    std::vector<std::string> args{"--speculative-algorithm", "repeat"};
    args.insert(args.end(), flags.begin(), flags.end());
    return plan_drafts(resolve(args).draft, "LlamaForCausalLM").shape.nodes;
  };
  EXPECT_EQ(nodes({}), 9);
  EXPECT_EQ(nodes({"--speculative-repeat-tokens", "6"}), 13);
  EXPECT_EQ(nodes({"--speculative-num-draft-tokens", "5"}), 5);
  EXPECT_THAT(fault({"--speculative-repeat-tokens", "65"}),
              HasSubstr("--speculative-repeat-tokens: expected 1 to 64"));
}

TEST(ToyDrafter, errors_and_warnings_know_it) {
  EXPECT_THAT(fault({"--speculative-algorithm", "DFLASH"}), HasSubstr("NGRAM or SUFFIX or REPEAT"));
  EXPECT_THAT(fault({"--speculative-algorithm", "EAGLE+STANDALONE"}),
              HasSubstr("NGRAM or SUFFIX or REPEAT beside it"));
  EXPECT_EQ(resolve({"--speculative-algorithm", "eagle3+repeat"}).draft.algorithm, "EAGLE3+REPEAT");
  EXPECT_THAT(resolve({"--speculative-repeat-tokens", "3"}).warnings,
              Contains("--speculative-repeat-* flags have no effect without "
                       "--speculative-algorithm REPEAT."));
}

TEST(ToyDrafter, it_is_tuned_alone_and_beside_a_model) {
  const auto names_of = [](const std::vector<TuneSetting>& settings) {
    std::vector<std::string> names;
    for (const TuneSetting& setting : settings) names.push_back(setting.name);
    return names;
  };
  SettingBase base;
  base.algorithm = "EAGLE3";
  base.architecture = "LlamaForCausalLM";
  EXPECT_THAT(names_of(first_settings(base)), Contains("REPEAT 17, auto"));
  const TuneSetting best = shape_setting(base, {3, 2, 8}, TreeBudget::kFull);
  EXPECT_THAT(names_of(further_settings(base, {best})), Contains("EAGLE3+REPEAT 3/2/8, auto"));
}

// From the command line to the answer. The bias makes the text repeat itself.
TEST(ToyDrafter, it_drafts_in_a_served_model_and_changes_no_token) {
  if (!std::filesystem::exists(FORETOKEN_SOURCE_DIR "/models/demo/model.safetensors"))
    GTEST_SKIP() << "no demo model";
  const auto answer = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--max-total-tokens", "2048", "--draft-budget", "full"});
    ModelHost host(resolve(flags));
    Request request;
    request.prompt = std::vector<Token>{1, 2, 3, 4, 5, 6, 7, 8};
    request.sampling.temperature = 0;
    request.sampling.logit_bias = {{11, 100.0F}};
    request.max_new_tokens = 40;
    host.engine().start();
    return run_requests(host.engine(), {request})[0];
  };
  const TokenDelta plain = answer({"--speculative-algorithm", "none"});
  const TokenDelta drafted = answer({"--speculative-algorithm", "REPEAT"});
  EXPECT_EQ(difference(drafted.tokens, plain.tokens), "");
  EXPECT_EQ(plain.accepted_drafts, 0);
  EXPECT_GT(drafted.accepted_drafts, 20);
  EXPECT_LT(drafted.verify_steps, plain.verify_steps / 2);
}

}  // namespace
}  // namespace foretoken
