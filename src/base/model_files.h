#pragma once
// ModelFiles: the small files of a model by their names in a Hugging Face folder (config.json,
// tokenizer.json, ...), wherever they come from: a folder, or a file of another format of which
// they are made. Not the weights. Thread-safe: no state.

#include <filesystem>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

namespace foretoken {

class ModelFiles {
 public:
  virtual ~ModelFiles() = default;
  // The bytes of a file; nullopt when there is none. Throws Error when it cannot be read.
  virtual std::optional<std::string> read(const std::string& name) const = 0;
  virtual bool has(const std::string& name) const = 0;
  virtual std::string where(const std::string& name) const = 0;  // of the file, for errors
  virtual std::string where() const = 0;                         // of all of them
};

// The object in a JSON file; nullopt when there is no file. Throws Error.
std::optional<boost::json::object> read_json_file(const ModelFiles& files, const std::string& name);

// The files of a folder.
class FolderFiles final : public ModelFiles {
 public:
  // path: a folder, or a tokenizer.json (under any name) beside other files.
  explicit FolderFiles(const std::filesystem::path& path);
  std::optional<std::string> read(const std::string& name) const override;
  bool has(const std::string& name) const override;
  std::string where(const std::string& name) const override { return path_of(name).string(); }
  std::string where() const override { return path_.string(); }

 private:
  std::filesystem::path path_of(const std::string& name) const;

  std::filesystem::path path_;
  std::filesystem::path folder_;
};

}  // namespace foretoken
