#include "app/chat/line_input.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretoken {
namespace {

std::vector<std::string> inputs_of(std::string bytes) {
  std::FILE* file = std::tmpfile();
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::rewind(file);
  std::vector<std::string> texts;
  const auto input = plain_input(file);
  for (auto next = input->read(); next.kind == LineInput::Kind::kText; next = input->read())
    texts.push_back(next.text);
  EXPECT_EQ(input->read().kind, LineInput::Kind::kEnd);
  std::fclose(file);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(PlainInput, EachLineIsAnInput) {
  EXPECT_EQ(inputs_of("one\ntwo\r\n\nlast"), (Texts{"one", "two", "", "last"}));
  EXPECT_EQ(inputs_of(""), Texts{});
}

TEST(PlainInput, ABackslashJoinsLines) {
  EXPECT_EQ(inputs_of("one\\\ntwo\\\nthree\nfour\n"), (Texts{"one\ntwo\nthree", "four"}));
  EXPECT_EQ(inputs_of("at the end\\"), Texts{"at the end"});
}

TEST(PlainInput, AFenceHoldsLinesTogether) {
  EXPECT_EQ(inputs_of("\"\"\"\na\\\n\nb\n\"\"\"\nnext\n"),
            (Texts{"\"\"\"\na\\\n\nb\n\"\"\"", "next"}));
  EXPECT_EQ(inputs_of("\"\"\"\nopen"), Texts{"\"\"\"\nopen"});
}

}  // namespace
}  // namespace foretoken
