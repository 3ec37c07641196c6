#pragma once
// HiddenStates: what an answer keeps of the target's hidden states behind its final norm: the last,
// the mean, or all. Not a format. Not thread-safe: lives beside its Choice.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/request.h"
#include "server/context/server_config.h"
#include "server/json/json_fields.h"

namespace foretoken {

enum class HiddenWish { kNone, kLast, kMean, kAll };

class HiddenStates {
 public:
  explicit HiddenStates(HiddenWish wish = HiddenWish::kNone) : wish_(wish) {}

  void add(std::vector<HiddenState> states);

  HiddenWish wish() const { return wish_; }
  const std::vector<HiddenState>& all() const { return states_; }  // of kLast, one at most
  HiddenState mean() const;  // of kMean; empty: there were none

 private:
  HiddenWish wish_;
  std::vector<HiddenState> states_;
  std::vector<double> sum_;
  std::size_t count_ = 0;
};

// The first position whose state the engine reports.
int hidden_start(HiddenWish wish, std::size_t prompt_tokens);

// `return_hidden_states`: true or "last". `all`: what true asks for.
HiddenWish read_hidden_wish(Fields& fields, const ServerConfig& config, HiddenWish all);

// Bytes that a position takes in memory and as JSON.
double hidden_bytes(HiddenWish wish, const ServerConfig& config);

}  // namespace foretoken
