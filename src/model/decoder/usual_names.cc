#include "model/decoder/usual_names.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "model/decoder/named_weights.h"

namespace foretoken {
namespace {

std::string usual_name(std::string name, std::span<const Rename> renames) {
  for (const Rename& rename : renames) {
    const std::size_t found = name.find(rename.stored);
    if (found == std::string::npos) continue;
    return name.replace(found, rename.stored.size(), rename.usual);
  }
  return name;
}

}  // namespace

std::unique_ptr<WeightSource> usual_names(std::unique_ptr<WeightSource> source,
                                          std::span<const Rename> renames) {
  const auto names = source->names();
  if (names.empty() || renames.empty()) return source;  // made-up weights have every name
  std::map<std::string, std::string> stored;
  for (const std::string& name : names) {
    const auto [entry, is_new] = stored.emplace(usual_name(name, renames), name);
    if (!is_new)
      throw Error({"two tensors stand for one of the decoder's",
                   source->where() + ", tensor " + name,
                   {},
                   entry->second + ", too"});
  }
  return std::make_unique<NamedWeights>(std::move(source), std::move(stored));
}

}  // namespace foretoken
