#include "server/json/known_fields.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/log.h"
#include "server/json/field_rules.h"

namespace foretoken {
namespace {

constexpr std::size_t kUnknownOfBody = 16;  // named of one body

}  // namespace

std::span<const std::string_view> shared_chat_fields() {
  static constexpr std::array<std::string_view, 21> kNames{"model",
                                                           "stream",
                                                           "temperature",
                                                           "top_p",
                                                           "top_k",
                                                           "min_p",
                                                           "seed",
                                                           "rid",
                                                           "frequency_penalty",
                                                           "presence_penalty",
                                                           "repetition_penalty",
                                                           "logit_bias",
                                                           "stop_token_ids",
                                                           "ignore_eos",
                                                           "min_tokens",
                                                           "extra_key",
                                                           "cache_salt",
                                                           "timeout_seconds",
                                                           "priority",
                                                           "chat_template_kwargs",
                                                           "speculative"};
  return kNames;
}

bool UnknownFields::is_news(std::string_view name) {
  name = name.substr(0, kMostBytes);
  const std::lock_guard lock(mutex_);
  return names_.size() < kMostNames && names_.find(name) == names_.end() &&
         names_.emplace(name).second;
}

std::size_t UnknownFields::size() const {
  const std::lock_guard lock(mutex_);
  return names_.size();
}

std::string UnknownFields::shown_name(std::string_view name) {
  std::string out(name.substr(0, kMostBytes));
  std::replace_if(out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name.size() > kMostBytes ? out + "..." : out;
}

void check_known_fields(Fields& fields, BodyKind kind, UnknownFields& unknown) {
  const FieldRules& rules = field_rules(kind);
  std::size_t strange = 0;
  for (const auto& [key, value] : fields.all()) {
    const std::string_view name(key);
    const auto rule = rules.find(name);
    if (rule == rules.end()) {
      if (++strange <= kUnknownOfBody && unknown.is_news(name))
        log_warning("The field \"{}\" is unknown here and has no effect.",
                    UnknownFields::shown_name(name));
    } else if (!rule->second.reason.empty() && !asks_for_nothing(value, rule->second.idle)) {
      return fields.refuse(fmt::format("{} is not supported: {}", name, rule->second.reason));
    }
  }
}

}  // namespace foretoken
