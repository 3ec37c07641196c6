#include "checkpoint/hub/model_finder.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/formats/gguf/gguf_parts.h"
#include "checkpoint/hub/cached_models.h"
#include "checkpoint/hub/hub_name.h"
#include "checkpoint/hub/model_choice.h"
#include "checkpoint/model_files.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// The folder, or the one GGUF model that it holds.
std::string model_of(const std::string& folder) { return gguf_model_of(folder).value_or(folder); }

[[noreturn]] void refuse_download(const std::string& name, const std::string& flag,
                                  const Error& fault) {
  throw Error({fmt::format("{} is neither a path here nor in the cache of the hub, and cannot be "
                           "downloaded: {}",
                           name, fault.what()),
               flag,
               {},
               {}});
}

// Of a GGUF repository whose quantization nobody named, the cache holds another than the usual one.
bool is_other_quant(const HubName& name, const std::string& path) {
  return name.quant.empty() && name.file.empty() && is_gguf(path) && quant_of(path) != kUsualQuant;
}

// Other programs download weights and config alone.
bool lacks_tokenizer(const ModelWish& wish, const std::string& path) {
  return wish.needs_tokenizer && !is_gguf(path) && !has_tokenizer(*open_model_files(path));
}

}  // namespace

std::string FoundModel::path() {
  if (!pull_) return path_;
  try {
    return pull_->run();
  } catch (const Error& fault) {
    refuse_download(name_, flag_, fault);
  }
}

FoundModel ModelFinder::plan(const HubName& name, const std::string& revision,
                             const std::string& flag) const {
  try {
    return {PlannedPull(settings_, name, revision, watcher_), name.text(), flag};
  } catch (const Error& fault) {
    refuse_download(name.text(), flag, fault);
  }
}

// What the cache holds could be served, and the hub may have what was meant.
FoundModel ModelFinder::completed(const HubName& name, const ModelWish& wish,
                                  const std::string& cached) const {
  const bool is_other = is_other_quant(name, cached);
  // The files of one commit belong together.
  const std::string revision = is_other ? wish.revision : fs::path(cached).filename().string();
  std::string why = "offline: nothing is downloaded";
  try {
    if (!settings_.offline)
      return {PlannedPull(settings_, name, revision, watcher_), name.text(), wish.flag};
  } catch (const Error& fault) {
    why = fault.what();
  }
  if (is_other)  // without a tokenizer, who reads it says so
    log_warning("{} names no quantization and the cache holds one, which is taken: {} ({})",
                name.text(), cached, why);
  return FoundModel(cached);
}

// What the cache has, else what the hub gives.
FoundModel ModelFinder::find_named(const HubName& name, const ModelWish& wish) const {
  if (!wish.revision.empty() && !is_safe_path(wish.revision))
    throw Error({"bad name of a revision", wish.flag, "a branch, tag or commit",
                 "'" + wish.revision + "'"});
  const Result<std::string> cached = find_cached(settings_.cache, name, wish.revision);
  if (cached && (is_other_quant(name, *cached) || lacks_tokenizer(wish, *cached)))
    return completed(name, wish, *cached);
  if (cached) return FoundModel(*cached);
  if (settings_.offline)
    throw Error({name.text() + " is neither a path here nor in the cache of the hub",
                 wish.flag,
                 {},
                 cached.refusal().message + " (offline: nothing is downloaded)"});
  return plan(name, wish.revision, wish.flag);
}

FoundModel ModelFinder::find(const ModelWish& wish) const {
  std::error_code ignored;
  if (fs::is_directory(wish.name, ignored)) return FoundModel(model_of(wish.name));
  if (is_gguf(wish.name)) return FoundModel(wish.name);
  if (fs::exists(wish.name, ignored))
    throw Error({.what = "not a checkpoint",
                 .where = wish.name,
                 .expected = "a folder with config.json and weights, or a GGUF file",
                 .found = "another file"});
  const auto name = parse_hub_name(wish.name);
  const bool is_file = name && !name->file.empty();
  if (!name || (is_file && !name->file.ends_with(".gguf")))
    throw Error({.what = "there is no checkpoint folder " + wish.name, .where = wish.flag});
  return find_named(*name, wish);
}

FoundModel ModelFinder::find_file(const std::string& path_or_name, const std::string& what,
                                  const std::string& flag) const {
  std::error_code ignored;
  if (fs::is_regular_file(path_or_name, ignored)) return FoundModel(path_or_name);
  const auto name = parse_hub_name(path_or_name);
  if (!name || name->file.empty())
    throw Error({fmt::format("there is no {} {}", what, path_or_name), flag,
                 "a file, or owner/name/file of the hub", "none"});
  return find_named(*name, {.flag = flag});
}

}  // namespace foretoken
