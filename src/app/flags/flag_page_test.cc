#include "app/flags/flag_page.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

using enum FlagKind;
using enum Support;

TEST(FlagPage, shows_flags_by_group_and_those_without_effect_by_reason) {
  const FlagGroup shared = {
      "First",
      {{.names = {"--alpha", "--al"}, .text = "a letter", .default_value = "a"},
       {.names = {"--beta"}, .kind = kSwitch, .text = "one | two"},
       {.names = {"--delta"},
        .text = "picks",
        .default_note = "computed",
        .choices = {"x", "y"},
        .refused_choices = {"z"},
        .refused_reason = "not yet"},
       {.names = {"--idle"}, .support = kNoEffect, .text = "no use"},
       {.names = {"--quiet"}, .support = kNoEffect, .text = "no use"},
       {.names = {"--later", "--never"}, .support = kRefused, .text = "not supported yet"}}};
  const FlagGroup own = {"Own", {{.names = {"--gamma"}, .kind = kInteger, .text = "counts"}}};
  const std::string page = flag_page({{"serve", {shared}}, {"tune", {own, shared}}});
  EXPECT_EQ(page.substr(page.find("\n## ")), R"(
## First

| flag | values | default | meaning |
|---|---|---|---|
| `--alpha`, `--al` | text | `a` | a letter |
| `--beta` |  | off | one \| two |
| `--delta` | `x`, `y` | computed | picks. Refused: `z`: not yet |

## Own (`foretoken tune` only)

| flag | values | default | meaning |
|---|---|---|---|
| `--gamma` | integer |  | counts |

## Accepted without effect

The log names each that is given, with the reason.

| group | flags | reason |
|---|---|---|
| First | `--idle`, `--quiet` | no use |

## Refused

The program ends with the reason, unless the value is the default.

| group | flags | reason |
|---|---|---|
| First | `--later`, `--never` | not supported yet |
)");
}

TEST(FlagPage, the_page_of_the_documents_is_that_of_the_table) {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/docs/use/flags.md");
  std::stringstream written;
  written << file.rdbuf();
  EXPECT_TRUE(written.str() == flag_page())
      << "make it anew: build/release/foretoken help --markdown > docs/use/flags.md";
}

}  // namespace
}  // namespace foretoken
