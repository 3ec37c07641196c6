#include "server/request/body_fields.h"

#include <algorithm>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <boost/json/value.hpp>

#include "base/rng.h"

namespace foretoken {
namespace {

constexpr std::size_t kMaxChoicesOfRequest = 16384;

}  // namespace

void check_request_id(Fields& fields, std::string_view id) {
  constexpr std::size_t kMaxBytes = 256;
  if (id.size() > kMaxBytes)
    return fields.refuse_field("rid",
                               fmt::format("at most {} bytes (found {})", kMaxBytes, id.size()));
  for (std::size_t i = 0; i < id.size(); ++i) {
    const auto byte = static_cast<unsigned char>(id[i]);
    // U+0080..U+009F and the line separators U+2028, U+2029 besides those of ASCII.
    const bool is_c1 =
        byte == 0xC2 && i + 1 < id.size() && static_cast<unsigned char>(id[i + 1]) < 0xA0;
    const std::string_view rest = id.substr(i);
    if (byte < 0x20 || byte == 0x7F || is_c1 || rest.starts_with("\u2028") ||
        rest.starts_with("\u2029"))
      return fields.refuse_field("rid", "control characters are not allowed");
  }
}

std::uint64_t read_cache_salt(Fields& fields, std::size_t at, std::size_t prompts) {
  const auto salt = [&](std::string_view name) -> std::string {
    const boost::json::value* value = fields.find(name);
    if (value == nullptr || !value->is_array()) return fields.string(name).value_or("");
    const auto salts = fields.strings(name);
    if (!salts) return {};
    if (salts->size() == prompts) return (*salts)[at];
    fields.refuse_field(name, fmt::format("the length of the list ({}) should be the number of "
                                          "prompts ({})",
                                          salts->size(), prompts));
    return {};
  };
  const std::string key = salt("extra_key") + '\0' + salt("cache_salt");
  return key.size() == 1 ? 0 : mix_seed(std::hash<std::string>()(key), 0);
}

std::optional<std::chrono::steady_clock::time_point> read_deadline(Fields& fields,
                                                                   const ServerConfig& config) {
  auto seconds = fields.number("timeout_seconds");
  if (seconds && !(*seconds > 0.0))
    fields.refuse(
        fmt::format("timeout_seconds must be positive, got {}.", fields.shown("timeout_seconds")));
  const double most = config.request_timeout_seconds;
  if (most > 0) seconds = std::min(seconds.value_or(most), most);
  if (!seconds) return std::nullopt;
  constexpr double kYear = 366.0 * 24 * 3600;
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(std::min(*seconds, kYear)));
}

int read_top_logprobs(Fields& fields, std::string_view name, std::int64_t most) {
  const auto count = fields.integer(name).value_or(0);
  if (count >= 0 && count <= most) return static_cast<int>(count);
  fields.refuse(fmt::format("{} must be in [0, {}], got {}.", name, most, count));
  return 0;
}

std::optional<Refusal> check_batch_size(std::size_t prompts) {
  if (prompts <= kMaxChoicesOfRequest) return std::nullopt;
  return Refusal{fmt::format("one request may have at most {} sequences", kMaxChoicesOfRequest)};
}

}  // namespace foretoken
