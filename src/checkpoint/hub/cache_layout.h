#pragma once
// CacheLayout: where things of one repository lie in the cache, which huggingface_hub and this
// program share:
//
//   CACHE/models--owner--name/refs/main                   the commit of a branch or tag
//                             snapshots/COMMIT/FILE       a link to ../../blobs/SUM
//                             blobs/SUM                   the bytes, by their sum
//   CACHE/.locks/models--owner--name/SUM.lock             held while the blob is downloaded
//
// Paths only, besides commit_of. Any thread.

#include <filesystem>
#include <optional>
#include <string>

namespace foretoken {

class CacheLayout {
 public:
  CacheLayout(const std::filesystem::path& cache, const std::string& id);

  const std::filesystem::path& repository() const { return repository_; }
  std::filesystem::path refs() const { return repository_ / "refs"; }
  std::filesystem::path snapshots() const { return repository_ / "snapshots"; }
  std::filesystem::path blobs() const { return repository_ / "blobs"; }
  std::filesystem::path lock(const std::string& sum) const { return locks_ / (sum + ".lock"); }
  const std::filesystem::path& locks() const { return locks_; }

  // Of a branch, tag or commit, which may not be there: then itself.
  std::string commit_of(const std::string& revision) const;
  std::filesystem::path snapshot_of(const std::string& revision) const {
    return snapshots() / commit_of(revision);
  }

 private:
  std::filesystem::path repository_;
  std::filesystem::path locks_;
};

// "owner/name" of a folder "models--owner--name"; nullopt: it is not a model's.
std::optional<std::string> id_of_repository(const std::string& folder);

}  // namespace foretoken
