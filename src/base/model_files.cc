#include "base/model_files.h"

#include <system_error>

#include "base/file.h"
#include "base/json_text.h"

namespace foretoken {

namespace fs = std::filesystem;

std::optional<boost::json::object> read_json_file(const ModelFiles& files,
                                                  const std::string& name) {
  const auto text = files.read(name);
  if (!text) return std::nullopt;
  return read_json_object(*text, files.where(name));
}

FolderFiles::FolderFiles(const fs::path& path) : path_(path), folder_(path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) folder_ = path.parent_path();
}

fs::path FolderFiles::path_of(const std::string& name) const {
  return path_ != folder_ && name == "tokenizer.json" ? path_ : folder_ / name;
}

std::optional<std::string> FolderFiles::read(const std::string& name) const {
  return read_file(path_of(name));
}

bool FolderFiles::has(const std::string& name) const {
  std::error_code ignored;
  return fs::exists(path_of(name), ignored);
}

}  // namespace foretoken
