#include "checkpoint/hub/gguf_magic.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace foretoken {
namespace fs = std::filesystem;

bool is_gguf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic(4, '\0');
  return file.read(magic.data(), 4) && magic == "GGUF";
}

bool holds_gguf(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (entry->path().extension() == ".gguf" && is_gguf(entry->path().string())) return true;
  return false;
}

}  // namespace foretoken
