#pragma once
// CachedModels: the models in the hub's cache of this machine, also those of other programs:
// finds, lists and removes them. Downloads nothing. Any thread; each call reads the file system.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/hub/hub_name.h"

namespace foretoken {

// The path of a model (a folder, the first part of a GGUF file) or of a file, if all of it is
// there. revision: empty for main. A refusal says what is missing.
Result<std::string> find_cached(const std::filesystem::path& cache, const HubName& name,
                                const std::string& revision);

// A snapshot of a repository.
struct CachedModel {
  std::string id;
  std::vector<std::string> refs;  // branches and tags that point to it
  std::string commit;
  std::vector<std::string> files;
  std::vector<std::string> quants;  // of its GGUF files
  std::int64_t bytes = 0;           // of its files
};

// By id and commit.
std::vector<CachedModel> list_cached(const std::filesystem::path& cache);

// Removes a repository; with a quantization or a file only that, from all snapshots; blobs that no
// snapshot needs any more go too. Returns how many bytes that gave back. Throws Error when there is
// no such thing, or it cannot be removed.
std::int64_t remove_cached(const std::filesystem::path& cache, const HubName& name);

}  // namespace foretoken
