#pragma once
// HubName: what a user writes for a model of the hub: "owner/name", "owner/name:Q4_K_M" for one
// quantization of a GGUF repository, "owner/name/folder/file" for one of its files. Not a path, and
// not a look at any disk. Pure functions.

#include <optional>
#include <string>
#include <string_view>

namespace foretoken {

struct HubName {
  std::string id;     // "owner/name", or "name" as the oldest models have it
  std::string quant;  // after the colon; empty: the usual one
  std::string file;   // inside the repository; empty: the model

  std::string text() const;  // as it was written
};

// nullopt: the text is of another form, so that only a path can be meant.
std::optional<HubName> parse_hub_name(std::string_view text);

// Whether a name of a file, branch or commit that the hub sends stays inside the folder it is put
// in: parts without "..", without control characters, none empty.
bool is_safe_path(std::string_view path);

}  // namespace foretoken
