#pragma once
// AnswerDelta: what one event of /v1/chat/completions tells of an answer: text, tokens with who
// drafted them, how it ended, what drafting did. Fields that are absent, null or unknown are
// nothing; plain data.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// A token of `speculative.trace`.
struct ToldToken {
  std::string bytes;    // of the answer's text; of special tokens none
  std::string drafter;  // the first of those that proposed it; empty: the model's own
};

struct ToldTally {
  std::string drafter;
  std::int64_t proposed = 0, accepted = 0;
};

// The report of a whole answer.
struct ToldReport {
  std::int64_t verify_steps = 0, accepted = 0;
  std::vector<ToldTally> drafters;
};

struct AnswerDelta {
  std::string content = {}, reasoning = {};
  std::string finish = {};  // reason; empty: it goes on
  std::string error = {};   // the server gives up, and why; empty: it does not
  std::vector<ToldToken> tokens = {};
  std::optional<ToldReport> report = {};
  std::optional<std::int64_t> completion_tokens = {};
};

// Nothing: it is no JSON object.
std::optional<AnswerDelta> read_answer_delta(std::string_view json);

// The sentence in the body of an error; empty: there is none.
std::string error_of_body(std::string_view json);

}  // namespace foretoken
