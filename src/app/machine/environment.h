#pragma once
// Environment: the variables that the program looks at, read once at start; the only place with
// getenv. Plain data, so that tests can make one up.

#include <string>
#include <vector>

#include "checkpoint/hub/hub_settings.h"

namespace foretoken {

struct Environment {
  HubSettings hub;                            // HF_ENDPOINT, HF_TOKEN and their like
  std::string cache;                          // folder for what can be made again; may not exist
  std::string state;                          // folder for what is kept of a user; empty: none
  std::string chat_key;                       // FORETOKEN_API_KEY, of a server to chat with
  bool wants_colour = true;                   // NO_COLOR, TERM
  int force_preempt_every = 0;                // SGLANG_TEST_RETRACT, SGLANG_TEST_RETRACT_INTERVAL
  bool allow_longer_context = false;          // SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN
  bool check_integrity = false;               // SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY
  bool overlaps_steps = false;                // SGLANG_ENABLE_SPEC_V2
  std::vector<std::string> greedy_variables;  // of Algorithm::greedy_variable those that are on
  std::string simulate_acc_len;               // SGLANG_SIMULATE_ACC_LEN; empty: not set
  std::string simulate_acc_method;            // SGLANG_SIMULATE_ACC_METHOD
  std::string req_waiting_timeout;            // SGLANG_REQ_WAITING_TIMEOUT, seconds
  std::string req_running_timeout;            // SGLANG_REQ_RUNNING_TIMEOUT, seconds
  std::string clip_max_new_tokens;            // SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION
  std::vector<std::string> notes;             // one line per SGLANG_ variable without effect here

  static Environment from_process();
};

// Which lookup from_process() makes, over a list of "NAME=value" strings.
Environment read_environment(const std::vector<std::string>& variables);

}  // namespace foretoken
