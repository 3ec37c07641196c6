#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/commands/commands.h"
#include "app/flags/flag_parser.h"
#include "app/flags/flag_table.h"
#include "app/options/find_models.h"
#include "base/byte_text.h"
#include "base/error.h"
#include "checkpoint/hub/cached_models.h"
#include "checkpoint/hub/hub_name.h"
#include "checkpoint/hub/pull.h"
#include "checkpoint/hub/pull_report.h"

namespace foretoken {
namespace {

namespace json = boost::json;

std::vector<HubName> hub_names(const std::vector<std::string>& words) {
  std::vector<HubName> names;
  for (const std::string& word : words) {
    auto name = parse_hub_name(word);
    if (!name)
      throw UsageError({"bad name of a model",
                        {},
                        "owner/name, owner/name:QUANT or owner/name/file",
                        "'" + word + "'"});
    names.push_back(std::move(*name));
  }
  if (names.empty()) throw UsageError("expected the name of a model: owner/name");
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

void print_json(const std::vector<CachedModel>& models) {
  json::array list;
  for (const auto& model : models)
    list.push_back({{"id", model.id},
                    {"refs", json::array(model.refs.begin(), model.refs.end())},
                    {"commit", model.commit},
                    {"quants", json::array(model.quants.begin(), model.quants.end())},
                    {"files", json::array(model.files.begin(), model.files.end())},
                    {"bytes", model.bytes}});
  std::printf("%s\n", json::serialize(list).c_str());
}

void print_text(const std::vector<CachedModel>& models) {
  constexpr std::string_view kRow = "{:<48} {:<14} {:>10}  {}\n";
  std::string text = fmt::format(kRow, "NAME", "REVISION", "SIZE", "FILES");
  for (const auto& model : models)
    text += fmt::format(
        kRow, model.id, model.refs.empty() ? model.commit.substr(0, 12) : joined(model.refs),
        byte_text(model.bytes),
        model.quants.empty() ? std::to_string(model.files.size()) : joined(model.quants));
  std::fputs(text.c_str(), stdout);
}

}  // namespace

int pull_models(std::span<const std::string> args) {
  const auto [words, flags] = parse_names_and_flags(args, pull_flags());
  const std::vector<HubName> names = hub_names(words);
  const HubSettings settings = hub_settings(flags, Environment::from_process());
  if (settings.offline) throw Error("HF_HUB_OFFLINE is set: nothing is downloaded");
  const std::string revision = flags.text("--revision");
  if (!revision.empty() && !is_safe_path(revision))
    throw UsageError("--revision: expected a branch, tag or commit, found '" + revision + "'");
  for (const HubName& name : names) {
    PullReport report;
    std::printf("%s\n", pull(settings, name, revision, report).c_str());
  }
  return 0;
}

int list_models(std::span<const std::string> args) {
  const FlagValues flags = parse_flags(args, list_flags());
  const auto models = list_cached(hub_settings(flags, Environment::from_process()).cache);
  if (flags.on("--json"))
    print_json(models);
  else
    print_text(models);
  return 0;
}

int remove_models(std::span<const std::string> args) {
  const auto [words, flags] = parse_names_and_flags(args, rm_flags());
  const std::vector<HubName> names = hub_names(words);
  const HubSettings settings = hub_settings(flags, Environment::from_process());
  for (const HubName& name : names)
    std::printf("%s removed: %s\n", name.text().c_str(),
                byte_text(remove_cached(settings.cache, name)).c_str());
  return 0;
}

}  // namespace foretoken
