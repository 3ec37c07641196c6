#include "app/host/draft_candidates.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "app/host/draft_vocabulary.h"
#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_parts.h"
#include "checkpoint/hub/cached_models.h"
#include "checkpoint/model_files.h"
#include "checkpoint/tensor_list.h"
#include "draft/catalogue/algorithms.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNeighbours = 64;  // that are looked at

struct Neighbour {
  std::string path;  // to open
  std::string name;  // to write down
};

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

// Model folders and GGUF files, of those in parts the first.
void add_beside(const fs::path& model, std::vector<Neighbour>& found) {
  std::error_code failed;
  const fs::path folder = fs::absolute(model, failed).lexically_normal().parent_path();
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path& path = entry->path();
    std::error_code ignored;
    const auto part = part_of(path.string());
    const bool is_model = fs::exists(path / "config.json", ignored) ||
                          (path.extension() == ".gguf" && (!part || part->number == 1));
    if (is_model && !is_same(path, model)) found.push_back({path.string(), path.string()});
  }
}

void add_cached(const CandidateSearch& search, std::vector<Neighbour>& found) {
  for (const CachedModel& model : list_cached(search.cache)) {
    if (std::ranges::count(model.refs, "main") == 0) continue;
    std::vector<HubName> names;
    for (const std::string& quant : model.quants) names.push_back({model.id, quant, {}});
    if (names.empty()) names.push_back({model.id, {}, {}});
    for (const HubName& name : names) {
      const auto path = find_cached(search.cache, name, {});
      if (path && !is_same(*path, search.model)) found.push_back({*path, name.text()});
    }
  }
}

std::size_t weight_bytes(const std::string& path) {
  std::size_t bytes = 0;
  for (const ListedTensor& tensor : list_tensors(path).tensors) bytes += tensor.bytes;
  return bytes;
}

// The row of the table that drafts with what lies there; null: none.
const Algorithm* user_of(const std::string& path) {
  for (const Algorithm* row : algorithms())
    if (row->recognizes != nullptr && row->recognizes(path)) return row;
  return nullptr;
}

// nullopt: not worth a word.
std::optional<DraftCandidate> judge(const Neighbour& neighbour, const CandidateSearch& search,
                                    const ModelConfig& target, std::size_t target_bytes) {
  const Algorithm* row = user_of(neighbour.path);
  if (row == nullptr) return std::nullopt;
  try {
    if (weight_bytes(neighbour.path) > target_bytes / 2) return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
  DraftCandidate candidate{std::string(row->name), neighbour.name, {}};
  DraftOptions options;
  options.algorithm = candidate.algorithm;
  options.folder = neighbour.path;
  options.target_folder = search.model;
  try {
    row->check(options, target);
    candidate.fault =
        vocabulary_fault(search.model, target, neighbour.path, search.compares_tokens);
  } catch (const Error& fault) {
    candidate.fault = fault.what();
  }
  return candidate;
}

}  // namespace

std::vector<DraftCandidate> find_draft_candidates(const CandidateSearch& search,
                                                  const ModelConfig& target) {
  std::vector<Neighbour> neighbours;
  add_beside(search.model, neighbours);
  add_cached(search, neighbours);
  std::ranges::sort(neighbours, {}, &Neighbour::name);
  if (neighbours.size() > kMostNeighbours) neighbours.resize(kMostNeighbours);
  std::vector<DraftCandidate> found;
  const std::size_t target_bytes = weight_bytes(search.model);
  for (const Neighbour& neighbour : neighbours)
    if (auto candidate = judge(neighbour, search, target, target_bytes))
      found.push_back(std::move(*candidate));
  std::ranges::stable_sort(found, {},
                           [](const DraftCandidate& each) { return !each.fault.empty(); });
  return found;
}

}  // namespace foretoken
