#pragma once
// Conversations to tune on, from files in the layouts that are around: MT-bench's lines ("turns"),
// ShareGPT's array or lines ("conversations"), chat lines ("messages"), and plain lines ("prompt",
// "text", or a string alone). Only what the user says is taken. Pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct PromptText {
  std::string category;            // empty: none was named
  std::vector<std::string> turns;  // what the user says; at least one
};

// Throws Error naming the file, and the line or element.
std::vector<PromptText> read_prompt_texts(const std::string& path);
std::vector<PromptText> parse_prompt_texts(std::string_view text, const std::string& where);

// Texts of many kinds, used where the user names none.
std::vector<PromptText> usual_prompt_texts();

}  // namespace foretoken
