#include "app/options/server_args.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/options/options.h"

namespace foretoken {
namespace {

constexpr std::string_view kHidden = "***";  // keys are nobody's business

std::string in_quotes(std::string_view text) {
  return boost::json::serialize(boost::json::string(text));
}

// "--model-path" -> "model_path".
std::string argument_name(std::string_view flag) {
  std::string name(flag.substr(2));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string json_value(const FlagValues& values, const Flag& flag) {
  switch (flag.kind) {
    case FlagKind::kSwitch:
      return values.on(flag.name()) ? "true" : "false";
    case FlagKind::kInteger: {
      const auto value = values.integer(flag.name());
      return value ? std::to_string(*value) : "null";
    }
    case FlagKind::kNumber: {
      const auto value = values.number(flag.name());
      return value ? fmt::format("{}", *value) : "null";
    }
    case FlagKind::kIntegerList:
    case FlagKind::kTextList: {
      if (!values.given(flag.name())) return "null";
      auto items = values.list(flag.name());
      if (flag.kind == FlagKind::kTextList) std::ranges::transform(items, items.begin(), in_quotes);
      return fmt::format("[{}]", fmt::join(items, ","));
    }
    case FlagKind::kText:
      break;
  }
  const std::string text = values.text(flag.name());
  return text.empty() ? "null" : in_quotes(text);
}

// JSON to the look of a Python value.
std::string python_value(const std::string& json) {
  if (json == "null") return "None";
  if (json == "true") return "True";
  if (json == "false") return "False";
  if (!json.starts_with('"')) return json;
  const auto parsed = boost::json::parse(json);
  return fmt::format("'{}'", std::string_view(parsed.as_string()));
}

}  // namespace

ServerArgs list_server_args(const FlagValues& values, const Options& options) {
  ServerArgs args;
  for (const auto& group : values.table())
    for (const auto& flag : group.flags)
      args.emplace_back(argument_name(flag.name()), json_value(values, flag));
  const ServerConfig& server = options.server;
  set_server_arg(args, "model_path", in_quotes(server.model_path));
  set_server_arg(args, "tokenizer_path", in_quotes(server.tokenizer_path));
  set_server_arg(args, "served_model_name", in_quotes(server.served_model_name));
  set_server_arg(args, "random_seed", std::to_string(server.random_seed));
  set_server_arg(args, "device", in_quotes(options.backend.device));
  if (!server.api_key.empty()) set_server_arg(args, "api_key", in_quotes(kHidden));
  if (!server.admin_api_key.empty()) set_server_arg(args, "admin_api_key", in_quotes(kHidden));
  set_server_arg(args, "max_running_requests", std::to_string(options.engine.max_running_requests));
  if (!options.draft.algorithm.empty())
    set_server_arg(args, "speculative_algorithm", in_quotes(options.draft.algorithm));
  set_server_arg(args, "page_size", std::to_string(kPageTokens));
  return args;
}

void set_server_arg(ServerArgs& args, const std::string& name, std::string json) {
  const auto found = std::ranges::find(args, name, [](const auto& arg) { return arg.first; });
  if (found != args.end())
    found->second = std::move(json);
  else
    args.emplace_back(name, std::move(json));
}

std::string describe_server_args(const ServerArgs& args) {
  std::string text;
  for (const auto& [name, json] : args)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, python_value(json));
  return "ServerArgs(" + text + ")";
}

}  // namespace foretoken
