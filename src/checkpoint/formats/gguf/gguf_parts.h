#pragma once
// Which GGUF files there are: the parts of a split model by their names, and the one model of a
// folder. Reads names and first bytes only. Any thread.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace foretoken {

// Of a name like "model-00002-of-00003.gguf".
struct GgufPart {
  std::string prefix;  // "model"
  std::size_t number = 0;
  std::size_t count = 0;

  std::string path_of(std::size_t part) const;  // from 1
};
std::optional<GgufPart> part_of(const std::string& path);  // nullopt: the name is of another form

bool is_gguf(const std::string& path);  // by its first bytes

// All parts of the model of which `path` is one, by their names; it alone where it is whole.
std::vector<std::string> gguf_files_of(const std::string& path);

// The GGUF model of a folder that holds one and no weights of another format (parts count as one,
// and are named by the first); nullopt: there is none. Throws Error where there are several.
std::optional<std::string> gguf_model_of(const std::string& folder);

}  // namespace foretoken
