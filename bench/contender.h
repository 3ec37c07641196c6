#pragma once
// Contender: a model behind an engine, as one method of drafting configures it, that answers
// prompts and says what they took. In-process, so that HTTP is not part of what is timed; otherwise
// the objects that `foretoken serve` runs. Any thread may ask.

#include <span>
#include <string>
#include <vector>

#include "app/host/model_host.h"
#include "app/host/text_host.h"
#include "bench/draft_methods.h"

namespace foretoken {

struct Answer {
  std::vector<Token> tokens;
  double seconds = 0;  // from the request to its last token
  int verify_steps = 0;
  int accepted_drafts = 0;
  int proposed_drafts = 0;
};

struct AnswerOptions {
  int max_new_tokens = 128;
  bool ignores_end = false;  // goes on beyond the model's end of an answer
  float temperature = 0.0F;  // seeds are the prompts', so that all methods draw alike
  bool drafts = true;        // false: not for this request, whatever the method
};

class Contender {
 public:
  // extra_flags: for every method alike, such as --threads. Throws Error and UsageError.
  Contender(const DraftMethod& method, std::span<const std::string> extra_flags);
  ~Contender();

  // Throws Error when the engine gives up. prediction: what is expected as the answer.
  Answer answer(const std::vector<Token>& prompt, const AnswerOptions& options,
                const std::vector<Token>& prediction = {});

  // The conversation as token ids, the answer yet to come. messages: user, assistant, user, ...
  std::vector<Token> encode(const std::vector<std::string>& messages) const;
  std::string text_of(const std::vector<Token>& tokens) const;

 private:
  Contender(const Options& options);
  TextHost text_;
  ModelHost host_;
  std::vector<Token> stop_tokens_;
};

}  // namespace foretoken
