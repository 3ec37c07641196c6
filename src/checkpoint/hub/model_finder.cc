#include "checkpoint/hub/model_finder.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_parts.h"
#include "checkpoint/hub/cached_models.h"
#include "checkpoint/hub/hub_name.h"
#include "checkpoint/hub/pull.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// The folder, or the one GGUF model that it holds.
std::string model_of(const std::string& folder) { return gguf_model_of(folder).value_or(folder); }

// What the cache has, else what the hub gives. what: "model", for errors.
std::string find_named(const HubSettings& settings, PullWatcher& watcher, const HubName& name,
                       const std::string& revision, const std::string& flag) {
  if (!revision.empty() && !is_safe_path(revision))
    throw Error({"bad name of a revision", flag, "a branch, tag or commit", "'" + revision + "'"});
  const Result<std::string> cached = find_cached(settings.cache, name, revision);
  if (cached) return *cached;
  if (settings.offline)
    throw Error({name.text() + " is neither a path here nor in the cache of the hub",
                 flag,
                 {},
                 cached.refusal().message + " (offline: nothing is downloaded)"});
  try {
    return pull(settings, name, revision, watcher);
  } catch (const Error& fault) {
    throw Error({fmt::format("{} is neither a path here nor in the cache of the hub, and cannot be "
                             "downloaded: {}",
                             name.text(), fault.what()),
                 flag,
                 {},
                 {}});
  }
}

}  // namespace

std::string ModelFinder::checkpoint(const std::string& path_or_name, const std::string& revision,
                                    const std::string& flag) const {
  std::error_code ignored;
  if (fs::is_directory(path_or_name, ignored)) return model_of(path_or_name);
  if (is_gguf(path_or_name)) return path_or_name;
  if (fs::exists(path_or_name, ignored))
    throw Error({.what = "not a checkpoint",
                 .where = path_or_name,
                 .expected = "a folder with config.json and weights, or a GGUF file",
                 .found = "another file"});
  const auto name = parse_hub_name(path_or_name);
  const bool is_file = name && !name->file.empty();
  if (!name || (is_file && !name->file.ends_with(".gguf")))
    throw Error({.what = "there is no checkpoint folder " + path_or_name, .where = flag});
  return find_named(settings_, watcher_, *name, revision, flag);
}

std::string ModelFinder::file(const std::string& path_or_name, const std::string& what,
                              const std::string& flag) const {
  std::error_code ignored;
  if (fs::is_regular_file(path_or_name, ignored)) return path_or_name;
  const auto name = parse_hub_name(path_or_name);
  if (!name || name->file.empty())
    throw Error({fmt::format("there is no {} {}", what, path_or_name), flag,
                 "a file, or owner/name/file of the hub", "none"});
  return find_named(settings_, watcher_, *name, {}, flag);
}

}  // namespace foretoken
