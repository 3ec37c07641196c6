#include "app/machine/environment.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include <unistd.h>

#include "app/machine/user_path.h"
#include "base/letters.h"
#include "draft/catalogue/algorithms.h"

#if defined(__APPLE__)
extern char** environ;  // which no header of that system names
#endif

namespace foretoken {
namespace {

std::string value_of(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string{} : found->second;
}

// As SGLang reads booleans.
bool is_on(const std::string& written) {
  const std::string value = lower_case(written);
  return value == "1" || value == "true" || value == "yes" || value == "y" || value == "on";
}

// The first of several variables that is set.
std::string first_of(const Variables& variables, std::initializer_list<std::string_view> names) {
  for (const auto name : names)
    if (auto value = value_of(variables, name); !value.empty()) return value;
  return {};
}

std::string hub_home_of(const Variables& variables) {
  if (const auto home = value_of(variables, "HF_HOME"); !home.empty())
    return expanded_path(home, variables);
  const auto cache = value_of(variables, "XDG_CACHE_HOME");
  if (cache.empty()) return home_of(variables) + "/.cache/huggingface";
  return expanded_path(cache + "/huggingface", variables);
}

std::string hub_cache_of(const Variables& variables) {
  const auto cache = first_of(variables, {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  return cache.empty() ? hub_home_of(variables) + "/hub" : expanded_path(cache, variables);
}

// Of a variable, else of the file that huggingface_hub's login writes.
std::string hub_token_of(const Variables& variables) {
  std::string token = first_of(variables, {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  if (token.empty() && !is_on(value_of(variables, "HF_HUB_DISABLE_IMPLICIT_TOKEN"))) {
    const auto path = value_of(variables, "HF_TOKEN_PATH");
    std::ifstream(path.empty() ? hub_home_of(variables) + "/token"
                               : expanded_path(path, variables)) >>
        token;
  }
  // It goes into a header, which line breaks would end.
  std::erase_if(token, [](unsigned char c) { return c <= ' ' || c == 0x7f; });
  return token;
}

// As huggingface_hub and its HTTP library read them.
HubSettings hub_of(const Variables& variables) {
  HubSettings hub;
  hub.cache = hub_cache_of(variables);
  if (auto endpoint = value_of(variables, "HF_ENDPOINT"); !endpoint.empty())
    hub.endpoint = endpoint;
  while (hub.endpoint.ends_with('/')) hub.endpoint.pop_back();
  hub.token = hub_token_of(variables);
  hub.authorities = first_of(variables, {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"});
  hub.offline = is_on(value_of(variables, "HF_HUB_OFFLINE")) ||
                is_on(value_of(variables, "TRANSFORMERS_OFFLINE"));
  const double stall = std::atof(value_of(variables, "HF_HUB_DOWNLOAD_TIMEOUT").c_str());
  if (stall > 0 && stall < 1e6) hub.stall_seconds = stall;
  return hub;
}

std::string cache_of(const Variables& variables) {
  if (auto cache = value_of(variables, "XDG_CACHE_HOME"); !cache.empty())
    return cache + "/foretoken";
  return home_of(variables) + "/.cache/foretoken";
}

std::string state_of(const Variables& variables) {
  if (auto state = value_of(variables, "XDG_STATE_HOME"); !state.empty())
    return state + "/foretoken";
  const auto home = value_of(variables, "HOME");
  return home.empty() ? home : home + "/.local/state/foretoken";
}

std::string note_on(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
      {"SGLANG_SIMULATE_ACC_TOKEN_MODE", "simulated texts are made of the drafts themselves"},
      {"SGLANG_RETURN_ORIGINAL_LOGPROB", "logprobs are those after temperature"},
  };
  const auto* known = std::ranges::find(kReasons, name, [](const auto& row) { return row.first; });
  const std::string_view reason =
      known == std::end(kReasons) ? "it is not known to this program" : known->second;
  return "environment variable " + std::string(name) +
         " has no effect here: " + std::string(reason);
}

}  // namespace

Environment read_environment(const std::vector<std::string>& variables) {
  Variables map;
  for (const auto& variable : variables) {
    const auto equals = variable.find('=');
    if (equals != std::string::npos)
      map.insert_or_assign(variable.substr(0, equals), variable.substr(equals + 1));
  }
  Environment environment;
  environment.hub = hub_of(map);
  environment.cache = cache_of(map);
  environment.state = state_of(map);
  environment.chat_key = value_of(map, "FORETOKEN_API_KEY");
  environment.wants_colour = value_of(map, "NO_COLOR").empty() && value_of(map, "TERM") != "dumb";
  for (const auto& [name, value] : map) {
    if (!name.starts_with("SGLANG_")) continue;
    if (name == "SGLANG_TEST_RETRACT") {
      if (is_on(value))
        environment.force_preempt_every =
            std::max(1, std::atoi(value_of(map, "SGLANG_TEST_RETRACT_INTERVAL").c_str()));
    } else if (name == "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY") {
      environment.check_integrity = is_on(value) || std::atoi(value.c_str()) > 0;
    } else if (name == "SGLANG_ENABLE_SPEC_V2") {
      environment.overlaps_steps = is_on(value);
    } else if (std::ranges::count(algorithms(), name, &Algorithm::greedy_variable) > 0) {
      if (is_on(value)) environment.greedy_variables.push_back(name);
    } else if (name == "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") {
      environment.allow_longer_context = is_on(value);
    } else if (name == "SGLANG_SIMULATE_ACC_LEN") {
      environment.simulate_acc_len = value;
    } else if (name == "SGLANG_SIMULATE_ACC_METHOD") {
      environment.simulate_acc_method = value;
    } else if (name == "SGLANG_REQ_WAITING_TIMEOUT") {
      environment.req_waiting_timeout = value;
    } else if (name == "SGLANG_REQ_RUNNING_TIMEOUT") {
      environment.req_running_timeout = value;
    } else if (name == "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION") {
      environment.clip_max_new_tokens = value;
    } else if (name != "SGLANG_TEST_RETRACT_INTERVAL") {
      environment.notes.push_back(note_on(name));
    }
  }
  return environment;
}

Environment Environment::from_process() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return read_environment(variables);
}

}  // namespace foretoken
