#include "checkpoint/hub/pull.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "checkpoint/hub/blob_download.h"
#include "checkpoint/hub/cache_layout.h"
#include "checkpoint/hub/file_lock.h"
#include "checkpoint/hub/hub_listing.h"
#include "checkpoint/hub/model_choice.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// Backups leave such folders out (bford.info/cachedir).
void tag_cache(const fs::path& cache) {
  std::error_code ignored;
  const fs::path tag = cache / "CACHEDIR.TAG";
  if (fs::exists(tag, ignored)) return;
  std::ofstream(tag) << "Signature: 8a477f597d28d172789f06886806bc55\n"
                        "# This file is a cache directory tag of models from the hub.\n";
}

// Whole, as far as its size tells.
bool has_bytes(const fs::path& path, std::int64_t size) {
  std::error_code missing;
  const auto found = fs::file_size(path, missing);
  return !missing && static_cast<std::int64_t>(found) == size;
}

// As huggingface_hub does: a file system without links gets the file itself.
void link_blob(const fs::path& blob, const fs::path& link) {
  std::error_code failed;
  fs::create_directories(link.parent_path(), failed);
  fs::remove(link, failed);
  fs::create_symlink(blob.lexically_relative(link.parent_path()), link, failed);
  if (failed) fs::rename(blob, link, failed);
  if (failed) throw Error({"cannot link a file of the cache", link.string(), {}, failed.message()});
}

void write_ref(const fs::path& ref, const std::string& commit) {
  std::error_code failed;
  fs::create_directories(ref.parent_path(), failed);
  const fs::path next = ref.string() + "." + std::to_string(getpid());  // others may write it, too
  if (!(std::ofstream(next) << commit << std::flush))
    throw Error({"cannot write file", next.string(), {}, {}});
  fs::rename(next, ref, failed);
  if (failed) throw Error({"cannot write file", ref.string(), {}, failed.message()});
}

class Pull {
 public:
  Pull(const HubSettings& settings, const HubName& name, PullWatcher& watcher)
      : settings_(settings),
        name_(name),
        watcher_(watcher),
        layout_(settings.cache, name.id),
        listing_(settings, [&watcher](const std::string& why, double) { watcher.on_wait(why); }) {}

  std::string run(const std::string& revision) {
    const HubRevision found = listing_.list(name_.id, revision);
    snapshot_ = layout_.snapshots() / found.commit;
    const ModelChoice choice = choose(found);
    std::vector<HubFile> missing;
    std::int64_t bytes = 0;
    for (const HubFile& listed : found.files) {
      if (std::ranges::count(choice.files, listed.path) == 0) continue;
      HubFile file = listed;
      listing_.complete(name_.id, found.commit, file);
      if (has_bytes(snapshot_ / file.path, *file.size)) continue;
      bytes += *file.size;
      missing.push_back(std::move(file));
    }
    if (!missing.empty()) watcher_.on_start(name_.text(), missing.size(), bytes);
    for (const HubFile& file : missing) fetch(found.commit, file);
    // What is whole already may be in a cache that cannot be written.
    if (layout_.commit_of(revision) != found.commit)
      write_ref(layout_.refs() / revision, found.commit);
    if (!missing.empty()) tag_cache(settings_.cache);
    if (!name_.file.empty()) return (snapshot_ / name_.file).string();
    return (choice.gguf.empty() ? snapshot_ : snapshot_ / choice.gguf).string();
  }

 private:
  ModelChoice choose(const HubRevision& found) const {
    std::vector<std::string> names;
    for (const HubFile& file : found.files) names.push_back(file.path);
    if (name_.file.empty()) return choose_model(name_.id, names, name_.quant);
    if (std::ranges::count(names, name_.file) == 0)
      throw Error({"the repository has no such file", name_.id, name_.file,
                   std::to_string(names.size()) + " other files"});
    return {{name_.file}, {}};
  }

  void fetch(const std::string& commit, const HubFile& file) {
    watcher_.on_file(file.path, *file.size);
    const FileLock lock(layout_.lock(file.sum), [&] {
      watcher_.on_wait("another process downloads " + file.path + "; waiting for it");
    });
    const fs::path blob = layout_.blobs() / file.sum;
    if (!has_bytes(blob, *file.size) && !has_bytes(snapshot_ / file.path, *file.size))
      download_blob(
          settings_,
          {url_of(settings_, name_.id, commit, file.path), file.path, file.sum, *file.size}, blob,
          watcher_);
    if (!has_bytes(snapshot_ / file.path, *file.size)) link_blob(blob, snapshot_ / file.path);
    watcher_.on_done(file.path);
  }

  const HubSettings& settings_;
  const HubName& name_;
  PullWatcher& watcher_;
  CacheLayout layout_;
  HubListing listing_;
  fs::path snapshot_;
};

}  // namespace

std::string pull(const HubSettings& settings, const HubName& name, const std::string& revision,
                 PullWatcher& watcher) {
  return Pull(settings, name, watcher).run(revision.empty() ? "main" : revision);
}

}  // namespace foretoken
