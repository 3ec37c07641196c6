#include "checkpoint/hub/hub_cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_parts.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// "owner/name" or "name" of letters, digits and ._-; anything else is meant as a path.
bool is_hub_id(const std::string& text) {
  if (std::ranges::count(text, '/') > 1 || text.starts_with('.') || text.starts_with('/') ||
      text.ends_with('/') || text.find("..") != std::string::npos)
    return false;
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '/' || c == '.' || c == '_' || c == '-';
  });
}

std::string first_word(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

// The cache's folder of a hub id: "models--owner--name".
std::string folder_of(std::string id) {
  if (const auto slash = id.find('/'); slash != std::string::npos) id.replace(slash, 1, "--");
  return "models--" + id;
}

// Of a branch, tag or commit; it may not exist.
fs::path snapshot_of(const fs::path& repository, const std::string& revision) {
  const std::string commit = first_word(repository / "refs" / revision);
  return repository / "snapshots" / (commit.empty() ? revision : commit);
}

// The folder, or the one GGUF model that it holds.
std::string model_of(const std::string& folder) { return gguf_model_of(folder).value_or(folder); }

}  // namespace

std::string find_checkpoint(const std::string& path_or_id, const std::string& revision,
                            const std::string& hub_cache, const std::string& flag) {
  std::error_code ignored;
  if (fs::is_directory(path_or_id, ignored)) return model_of(path_or_id);
  if (is_gguf(path_or_id)) return path_or_id;
  if (fs::exists(path_or_id, ignored))
    throw Error({.what = "not a checkpoint",
                 .where = path_or_id,
                 .expected = "a folder with config.json and weights, or a GGUF file",
                 .found = "another file"});
  if (!is_hub_id(path_or_id))
    throw Error({.what = "there is no checkpoint folder " + path_or_id, .where = flag});

  const fs::path repository = fs::path(hub_cache) / folder_of(path_or_id);
  if (!fs::is_directory(repository, ignored))
    throw Error({.what = path_or_id + " is neither a folder nor in the local Hugging Face cache",
                 .where = flag,
                 .expected = "a checkpoint folder or " + repository.string(),
                 .found = "neither (nothing is downloaded)"});
  const std::string wanted = revision.empty() ? "main" : revision;
  const fs::path snapshot = snapshot_of(repository, wanted);
  if (!fs::is_directory(snapshot, ignored))
    throw Error({.what = "the local Hugging Face cache does not hold revision " + wanted + " of " +
                         path_or_id,
                 .where = repository.string(),
                 .expected = "the folder " + snapshot.string(),
                 .found = "none"});
  return model_of(snapshot.string());
}

std::string find_token_map(const std::string& path_or_id, const std::string& hub_cache) {
  std::error_code ignored;
  if (fs::is_regular_file(path_or_id, ignored)) return path_or_id;
  const auto slash = path_or_id.rfind('/');
  const std::string id = path_or_id.substr(0, slash == std::string::npos ? 0 : slash);
  std::string expected = "a file";
  if (is_hub_id(id)) {
    const fs::path file =
        snapshot_of(fs::path(hub_cache) / folder_of(id), "main") / path_or_id.substr(slash + 1);
    if (fs::is_regular_file(file, ignored)) return file.string();
    expected += ", or " + file.string() + " in the local Hugging Face cache";
  }
  throw Error({.what = "there is no token map " + path_or_id,
               .where = "--speculative-token-map",
               .expected = expected,
               .found = "none (nothing is downloaded)"});
}

}  // namespace foretoken
