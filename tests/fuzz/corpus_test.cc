// Runs every stored input through its target once: what a fuzzer found stays found, also where no
// fuzzer is at hand. A fault ends the process, which is this suite's failure.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/log.h"
#include "targets.h"

namespace foretoken::fuzz {
namespace {

class CorpusTest : public testing::TestWithParam<NamedTarget> {
 protected:
  CorpusTest() { set_log_level(LogLevel::kOff); }
  ~CorpusTest() override { set_log_level(LogLevel::kInfo); }
};

TEST_P(CorpusTest, every_input_is_survived) {
  const std::filesystem::path folder =
      std::filesystem::path(FORETOKEN_SOURCE_DIR) / "tests/fuzz/corpus" / GetParam().name;
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    GetParam().run(*read_file(entry.path()));
    ++inputs;
  }
  EXPECT_GT(inputs, 0) << "no corpus in " << folder;
  GetParam().run({});
}

INSTANTIATE_TEST_SUITE_P(AllTargets, CorpusTest,
                         testing::ValuesIn(all_targets().begin(), all_targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace foretoken::fuzz
