#pragma once
// Finds checkpoints on this machine: folders, and hub ids ("owner/name") in the local Hugging Face
// cache (models--owner--name/{refs,snapshots}). Never downloads. Reads the file system only.

#include <string>

namespace foretoken {

// The folder or GGUF file of a checkpoint that a flag names: a GGUF file that a folder holds in the
// place of other weights stands for the folder. Throws Error saying where it was looked for.
std::string find_checkpoint(const std::string& path_or_id, const std::string& revision,
                            const std::string& hub_cache, const std::string& flag = "--model-path");

// The file that --speculative-token-map names: a path, or "owner/name/file" of the cache's revision
// main. Throws Error.
std::string find_token_map(const std::string& path_or_id, const std::string& hub_cache);

}  // namespace foretoken
