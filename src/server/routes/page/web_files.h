#pragma once
// The files of src/server/web, which are part of the program: the source with their contents is
// written by the build. Read-only.

#include <span>
#include <string_view>

namespace foretoken {

struct WebFile {
  std::string_view name;     // "app.js"
  std::string_view hash;     // of the content
  std::string_view content;  // valid for ever
};

std::span<const WebFile> web_files();

}  // namespace foretoken
