#include "server/request/request_log.h"

#include <algorithm>
#include <string>

#include <fmt/ranges.h>

#include "base/log.h"
#include "server/http/kept_id.h"
#include "server/json/json_writer.h"

namespace foretoken {
namespace {

constexpr std::size_t kShownTokens = 256;
constexpr std::size_t kShownBytes = 2048;
constexpr std::size_t kShownRefusal = 512;

std::string shown_ids(const SharedTokens& tokens, bool all) {
  const std::size_t count = all ? tokens.size() : std::min(tokens.size(), kShownTokens);
  std::string text = fmt::format("[{}", fmt::join(tokens.begin(), tokens.begin() + count, ", "));
  return text + (count < tokens.size() ? ", ...]" : "]");
}

std::string shown_text(const std::string& text, bool all) {
  std::string out;
  append_json_string(out, all || text.size() <= kShownBytes ? text : text.substr(0, kShownBytes));
  return text.size() > kShownBytes && !all ? out + "..." : out;
}

std::string_view end_name(const std::optional<ChoiceEnd>& end) {
  if (!end) return "disconnect";
  switch (end->kind) {
    case ChoiceEnd::Kind::kStop:
      return "stop";
    case ChoiceEnd::Kind::kLength:
      return "length";
    case ChoiceEnd::Kind::kAbort:
      break;
  }
  return "abort";
}

}  // namespace

void log_received(const ServerConfig& config, const HttpRequest& http, const Request& request) {
  if (!config.log_requests) return;
  std::string line = fmt::format("Receive: rid={}, route={}, client={}, prompt_tokens={}",
                                 request.id, http.path, http.client, request.prompt.size());
  if (const auto id = kept_id(http); !id.empty()) line += fmt::format(", x_request_id={}", id);
  const int level = config.log_requests_level;
  const SamplingParams& params = request.sampling;
  if (level >= 1)
    line += fmt::format(
        ", sampling_params={{max_new_tokens={}, temperature={}, top_p={}, top_k={}, min_p={}, "
        "frequency_penalty={}, presence_penalty={}, repetition_penalty={}, min_new_tokens={}, "
        "seed={}}}",
        request.max_new_tokens, params.temperature, params.top_p, params.top_k, params.min_p,
        params.frequency_penalty, params.presence_penalty, params.repetition_penalty,
        params.min_new_tokens, params.seed);
  if (level >= 2) line += ", input_ids=" + shown_ids(request.prompt, level >= 3);
  log_info("{}", line);
}

void log_finished(const ServerConfig& config, const RunningChoice& choice) {
  if (!config.log_requests) return;
  std::string line = fmt::format(
      "Finish: rid={}, finish_reason={}, prompt_tokens={}, completion_tokens={}, "
      "cached_tokens={}, e2e_latency={:.3f}",
      choice.id, end_name(choice.choice.end()), choice.prompt_tokens, choice.choice.tokens().size(),
      choice.choice.counters().cached_tokens, choice.seconds);
  const int level = config.log_requests_level;
  if (level >= 2) line += ", text=" + shown_text(choice.choice.text(), level >= 3);
  log_info("{}", line);
}

void log_refused(const ServerConfig& config, const RequestLine& line, int status,
                 std::string_view body) {
  if (!config.log_requests) return;
  log_info("Refuse: status={}, method={}, path={}, client={}, answer={}", status, line.method,
           std::string_view(line.path).substr(0, kShownRefusal), line.client,
           body.substr(0, kShownRefusal));
}

}  // namespace foretoken
