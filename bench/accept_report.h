#pragma once
// What `foretoken-bench accept` measured, and its table: for each method accept length and rate,
// tokens per second of the median repeat, and the ratio in the same repeat to plain decoding: of
// the same engine where that was measured, else of the same model.

#include <optional>
#include <string>
#include <vector>

namespace foretoken {

struct MethodResult {
  std::string name = {};
  std::string model = {};    // folder of the target: ratios are to plain decoding of the same
  std::string skipped = {};  // why the method did not run; empty: it did
  std::optional<std::size_t> plain = {};  // the result of its own engine without drafts, of all
  bool is_off = false;                    // this is one
  bool is_plain = false;
  bool is_simulated = false;         // its texts are not to be compared
  std::vector<double> seconds = {};  // one per repeat, of all answers
  long tokens = 0;                   // of all answers of a repeat, the same in each
  long verify_steps = 0;
  long accepted_drafts = 0;
  long proposed_drafts = 0;
  int answers = 0;
  int different_answers = 0;  // from those of plain decoding
};

// Tokens that a step yields on average, the bonus included.
double accept_length(const MethodResult& result);
double tokens_per_second(const MethodResult& result);  // of the median repeat
// The median over repeats of this method's tokens per second over plain's.
double speed_up(const MethodResult& result, const MethodResult& plain);

std::string format_results(const std::vector<MethodResult>& results);

// Speeds against plain decoding, a column for each number of requests at once: results[i] are those
// of at_once[i], of the same methods.
std::string format_loads(const std::vector<int>& at_once,
                         const std::vector<std::vector<MethodResult>>& results);

}  // namespace foretoken
