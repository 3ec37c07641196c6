#include "checkpoint/hub/hub_name.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(HubName, the_three_forms) {
  const auto plain = parse_hub_name("Qwen/Qwen2.5-0.5B_x");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->id, "Qwen/Qwen2.5-0.5B_x");
  EXPECT_EQ(plain->quant + plain->file, "");
  const auto quant = parse_hub_name("o/n-GGUF:Q4_K_M");
  ASSERT_TRUE(quant);
  EXPECT_EQ(quant->id, "o/n-GGUF");
  EXPECT_EQ(quant->quant, "Q4_K_M");
  const auto file = parse_hub_name("o/n/a/b.gguf");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->id, "o/n");
  EXPECT_EQ(file->file, "a/b.gguf");
  EXPECT_EQ(parse_hub_name("gpt2")->id, "gpt2");
  for (const char* text : {"o/n", "o/n:Q8_0", "o/n/a/b"})
    EXPECT_EQ(parse_hub_name(text)->text(), text);
}

TEST(HubName, all_else_is_a_path) {
  for (const char* text :
       {"", "/o/n", "./n", "../n", "o/n/", "o//n", "o/..", "o/a..b", "~/n", "o/n n",
        "o/n:", "o/n:a/b", "o/n:a:b", "o/n:Q4/f", "-x", "o/-n", "o/\xc3\xa4", "https://hub/o"})
    EXPECT_FALSE(parse_hub_name(text)) << text;
}

TEST(HubName, safe_paths_stay_below_their_folder) {
  for (const char* path : {"a", "a/b.c", "a b", "\xc3\xa4", "..a"}) EXPECT_TRUE(is_safe_path(path));
  for (const char* path : {"", "/a", "a/", "a//b", ".", "..", "a/../b", "a\nb", "a\\b", "\x7f"})
    EXPECT_FALSE(is_safe_path(path)) << path;
  EXPECT_FALSE(is_safe_path(std::string(2000, 'a')));
  EXPECT_FALSE(is_safe_path(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace foretoken
