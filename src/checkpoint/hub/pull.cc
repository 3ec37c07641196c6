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

}  // namespace

class PlannedPull::State {
 public:
  State(const HubSettings& settings, const HubName& name, const std::string& revision,
        PullWatcher& watcher)
      : settings_(settings),
        name_(name),
        revision_(revision),
        watcher_(watcher),
        layout_(settings.cache, name.id) {
    HubListing listing(settings,
                       [&watcher](const std::string& why, double) { watcher.on_wait(why); });
    const HubRevision found = listing.list(name_.id, revision);
    commit_ = found.commit;
    snapshot_ = layout_.snapshots() / commit_;
    choice_ = choose(found);
    for (const HubFile& listed : found.files) {
      if (std::ranges::count(choice_.files, listed.path) == 0) continue;
      HubFile file = listed;
      listing.complete(name_.id, commit_, file);
      if (!has_bytes(snapshot_ / file.path, *file.size)) missing_.push_back(std::move(file));
    }
  }

  bool is_complete() const { return missing_.empty(); }

  std::string run() {
    std::int64_t bytes = 0;
    for (const HubFile& file : missing_) bytes += *file.size;
    if (!missing_.empty()) watcher_.on_start(name_.text(), missing_.size(), bytes);
    for (const HubFile& file : missing_) fetch(file);
    // What is whole already may be in a cache that cannot be written.
    if (layout_.commit_of(revision_) != commit_) write_ref(layout_.refs() / revision_, commit_);
    if (!missing_.empty()) tag_cache(settings_.cache);
    if (!name_.file.empty()) return (snapshot_ / name_.file).string();
    return (choice_.gguf.empty() ? snapshot_ : snapshot_ / choice_.gguf).string();
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

  void fetch(const HubFile& file) {
    watcher_.on_file(file.path, *file.size);
    const FileLock lock(layout_.lock(file.sum), [&] {
      watcher_.on_wait("another process downloads " + file.path + "; waiting for it");
    });
    const fs::path blob = layout_.blobs() / file.sum;
    if (!has_bytes(blob, *file.size) && !has_bytes(snapshot_ / file.path, *file.size))
      download_blob(
          settings_,
          {url_of(settings_, name_.id, commit_, file.path), file.path, file.sum, *file.size}, blob,
          watcher_);
    if (!has_bytes(snapshot_ / file.path, *file.size)) link_blob(blob, snapshot_ / file.path);
    watcher_.on_done(file.path);
  }

  HubSettings settings_;
  HubName name_;
  std::string revision_;
  PullWatcher& watcher_;
  CacheLayout layout_;
  std::string commit_;
  fs::path snapshot_;
  ModelChoice choice_;
  std::vector<HubFile> missing_;
};

PlannedPull::PlannedPull(const HubSettings& settings, const HubName& name,
                         const std::string& revision, PullWatcher& watcher)
    : state_(
          std::make_unique<State>(settings, name, revision.empty() ? "main" : revision, watcher)) {}

PlannedPull::~PlannedPull() = default;
PlannedPull::PlannedPull(PlannedPull&&) noexcept = default;

bool PlannedPull::is_complete() const { return state_->is_complete(); }

std::string PlannedPull::run() { return state_->run(); }

std::string pull(const HubSettings& settings, const HubName& name, const std::string& revision,
                 PullWatcher& watcher) {
  return PlannedPull(settings, name, revision, watcher).run();
}

}  // namespace foretoken
