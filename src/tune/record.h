#pragma once
// Record: what was seen once of a target and a draft model, so that drafting can be replayed
// without either. Plain data; the file is record_file.h's.
//   - It holds the texts that the target wrote, and below every token of them the candidates that
//     the draft model gives.
//   - What follows a node of a draft tree depends on the text and the path alone, not on the shape
//     of the tree. So the rows recorded are those that any shape within the limits follows (see
//     CandidateRecorder), each with its children, the most probable first.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/index.h"
#include "base/types.h"
#include "batch/sampling.h"

namespace foretoken {

// Everything below one root. Row 0 is the root's, parents precede children.
struct RecordedTree {
  struct Row {
    std::int32_t parent = -1;  // the row above; -1: this is the root's
    std::int32_t rank = 0;     // which of its children this row's token is
  };
  std::vector<Row> rows;
  // `width` of each row; kNoToken: there is none.
  std::vector<Token> tokens;
  std::vector<float> chances;

  bool empty() const { return rows.empty(); }
  std::span<const Token> tokens_of(int row, int width) const {
    return std::span(tokens).subspan(at(row) * at(width), at(width));
  }
  std::span<const float> chances_of(int row, int width) const {
    return std::span(chances).subspan(at(row) * at(width), at(width));
  }
};

// One answer.
struct RecordedText {
  std::string category;  // of the prompt; empty: it has none
  std::uint32_t number = 0;
  std::vector<Token> prompt;
  std::vector<Token> output;
  // trees[i] lies below output[i]; none below the last token, and none without a draft model.
  std::vector<RecordedTree> trees;
  // What the target thought when it wrote output[i]: its best tokens with their logprobs.
  std::vector<std::vector<TopLogprob>> tops;
};

// Of what the record is. Fingerprints tell models apart, names are for people.
struct RecordIdentity {
  std::string model = {}, model_print = {};
  std::string tokenizer_print = {};
  std::string draft = {}, draft_print = {};  // of the draft model and what shapes its candidates
  std::string algorithm = {};                // that runs the draft model; empty: texts only
  std::string architecture = {};
  std::string backend = {};  // a description
  std::int64_t vocab = 0;
  int steps = 0, topk = 0;  // what shapes may have at most
  int max_new_tokens = 0;
  float temperature = 0;
  std::vector<Token> stop_tokens = {};  // empty: answers went on to their limit

  bool has_candidates() const { return topk > 0; }
};

struct Record {
  RecordIdentity identity;
  std::vector<RecordedText> texts;
  std::string costs;    // JSON, see step_costs.h; empty: not measured
  bool is_cut = false;  // the end of the file was missing or broken, and was left out
};

}  // namespace foretoken
