#include "checkpoint/hub/cached_models.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/formats/gguf/gguf_parts.h"
#include "checkpoint/hub/cache_layout.h"
#include "checkpoint/hub/file_lock.h"
#include "checkpoint/hub/model_choice.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// Inside the folder, ascending; links that lead nowhere are no files.
std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored))
      names.push_back(entry->path().lexically_relative(folder).string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

std::int64_t size_of(const fs::path& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  return failed ? 0 : static_cast<std::int64_t>(size);
}

// A shard that an index names and that is not there; empty: none.
std::string missing_shard(const fs::path& snapshot, const std::vector<std::string>& files) {
  for (const CheckpointFormat* format : {&safetensors_format(), &torch_format()}) {
    if (std::ranges::count_if(files, [&](const std::string& name) {
          return name.ends_with(format->extensions.front());
        }) == 0)
      continue;
    const auto indexed = find_checkpoint_files(snapshot.string(), *format);
    if (!indexed) return find_other_files(snapshot.string(), *format) ? "" : format->file_name;
    for (const std::string& name : indexed->names)
      if (std::ranges::count(files, name) == 0) return name;
    return {};
  }
  return {};
}

Result<std::string> find_model(const fs::path& snapshot, const HubName& name) {
  const auto refuse = [&](const std::string& missing) {
    return Refusal{fmt::format("{} lacks {}", snapshot.string(), missing)};
  };
  try {
    const ModelChoice choice = choose_model(name.id, files_in(snapshot), name.quant);
    if (!choice.gguf.empty()) return (snapshot / choice.gguf).string();
    if (std::ranges::count(choice.files, "config.json") == 0) return refuse("config.json");
    const std::string shard = missing_shard(snapshot, choice.files);
    if (!shard.empty()) return refuse(shard);
    return snapshot.string();
  } catch (const Error& fault) {
    return Refusal{fault.what()};
  }
}

// The files of a snapshot that are removed with `name`.
std::vector<std::string> files_of(const std::vector<std::string>& files, const HubName& name) {
  if (!name.file.empty() && std::ranges::count(files, name.file) == 0) return {};
  if (!name.file.empty()) return std::vector<std::string>(1, name.file);
  try {
    return choose_model(name.id, files, name.quant).files;
  } catch (const Error&) {
    return {};  // another snapshot may have it
  }
}

void erase_all(const fs::path& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  if (failed) throw Error({"cannot remove", path.string(), {}, failed.message()});
}

// Blobs, and parts of blobs, that no link leads to. What is being downloaded is left.
std::int64_t remove_loose_blobs(const CacheLayout& layout) {
  std::set<std::string> needed;
  for (const fs::path& snapshot : folders_in(layout.snapshots()))
    for (const std::string& file : files_in(snapshot)) {
      std::error_code ignored;
      needed.insert(fs::weakly_canonical(snapshot / file, ignored).filename().string());
    }
  std::int64_t bytes = 0;
  for (const std::string& blob : files_in(layout.blobs())) {
    if (needed.contains(blob)) continue;
    bytes += size_of(layout.blobs() / blob);
    erase_all(layout.blobs() / blob);
  }
  return bytes;
}

std::int64_t bytes_in(const fs::path& folder) {
  std::int64_t bytes = 0;
  for (const std::string& name : files_in(folder))
    if (!fs::is_symlink(folder / name)) bytes += size_of(folder / name);
  return bytes;
}

}  // namespace

Result<std::string> find_cached(const fs::path& cache, const HubName& name,
                                const std::string& revision) {
  const CacheLayout layout(cache, name.id);
  std::error_code ignored;
  if (!fs::is_directory(layout.repository(), ignored))
    return Refusal{fmt::format("there is no {}", layout.repository().string())};
  const std::string wanted = revision.empty() ? "main" : revision;
  const fs::path snapshot = layout.snapshot_of(wanted);
  if (!fs::is_directory(snapshot, ignored))
    return Refusal{
        fmt::format("{} does not hold revision {}", layout.repository().string(), wanted)};
  if (name.file.empty()) return find_model(snapshot, name);
  if (fs::is_regular_file(snapshot / name.file, ignored)) return (snapshot / name.file).string();
  return Refusal{fmt::format("there is no {}", (snapshot / name.file).string())};
}

std::vector<CachedModel> list_cached(const fs::path& cache) {
  std::vector<CachedModel> models;
  for (const fs::path& repository : folders_in(cache)) {
    const auto id = id_of_repository(repository.filename().string());
    if (!id) continue;
    const CacheLayout layout(cache, *id);
    std::map<std::string, std::vector<std::string>> refs;
    for (const std::string& ref : files_in(layout.refs()))
      refs[layout.commit_of(ref)].push_back(ref);
    for (const fs::path& snapshot : folders_in(layout.snapshots())) {
      CachedModel model;
      model.id = *id;
      model.commit = snapshot.filename().string();
      model.refs = refs[model.commit];
      model.files = files_in(snapshot);
      std::set<std::string> quants;
      for (const std::string& file : model.files) {
        model.bytes += size_of(snapshot / file);
        if (file.ends_with(".gguf"))
          if (auto quant = quant_of(file); !quant.empty()) quants.insert(std::move(quant));
      }
      model.quants.assign(quants.begin(), quants.end());
      models.push_back(std::move(model));
    }
  }
  return models;
}

std::int64_t remove_cached(const fs::path& cache, const HubName& name) {
  const CacheLayout layout(cache, name.id);
  std::error_code ignored;
  if (!fs::is_directory(layout.repository(), ignored))
    throw Error({name.id + " is not in the cache", layout.repository().string(), {}, {}});
  if (name.quant.empty() && name.file.empty()) {
    const std::int64_t bytes = bytes_in(layout.repository());
    erase_all(layout.repository());
    erase_all(layout.locks());
    return bytes;
  }
  bool has_any = false;
  std::int64_t bytes = 0;
  for (const fs::path& snapshot : folders_in(layout.snapshots()))
    for (const std::string& file : files_of(files_in(snapshot), name)) {
      has_any = true;
      if (!fs::is_symlink(snapshot / file)) bytes += size_of(snapshot / file);
      erase_all(snapshot / file);
    }
  if (!has_any)
    throw Error({name.text() + " is not in the cache", layout.repository().string(), {}, {}});
  return bytes + remove_loose_blobs(layout);
}

}  // namespace foretoken
