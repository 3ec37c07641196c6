#include "draft/catalogue/plan_drafts.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/letters.h"
#include "draft/catalogue/algorithms.h"
#include "draft/from_text/ngram/corpora.h"
#include "draft/shape_rules.h"
#include "draft/with_model/draft_loading.h"

namespace foretoken {
namespace {

constexpr const char* kFlag = "--speculative-algorithm";

// At every '+'; nothing of an empty name.
std::vector<std::string> split(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; !name.empty() && first <= name.size();) {
    const std::size_t end = std::min(name.find('+', first), name.size());
    parts.push_back(name.substr(first, end - first));
    first = end + 1;
  }
  return parts;
}

// That can be written on the command line, aliases included.
Algorithms supported() {
  Algorithms names;
  for (const Algorithm* row : algorithms())
    if (row->can_draft() || row->standing == Algorithm::Standing::kAlias) names.push_back(row);
  return names;
}

const Algorithm& one_algorithm_named(const std::string& name) {
  const std::string upper = drafter_named(name);
  const Algorithm* row = find_algorithm(upper);
  if (row != nullptr && row->can_draft()) return *row;
  if (row != nullptr && row->standing == Algorithm::Standing::kNotYet)
    throw Error({.what = "not supported yet: drafts by " + upper,
                 .where = kFlag,
                 .expected = names_of(supported()),
                 .found = name});
  throw Error("Unknown speculative algorithm name: " + name);
}

// Levels and children asked for are those of the model, the nodes those of all.
TreeShape shape_among_others(const Algorithm& row, const DraftOptions& options,
                             const std::string& target_architecture) {
  if (options.nodes) check_nodes(*options.nodes);
  DraftOptions own = options;
  if (!row.runs_model()) {
    own.steps = own.topk = std::nullopt;
    return row.shape(own, target_architecture);
  }
  own.nodes = std::nullopt;
  TreeShape shape = row.shape(own, target_architecture);
  if (options.nodes && shape.topk > 1) shape.nodes = std::min(*options.nodes, most_nodes(shape));
  return shape;
}

// Those that draft whatever was asked for, if nobody who was asked for does what they do.
void add_services(const DraftOptions& options, const std::string& target_architecture,
                  DraftPlan& plan) {
  const bool has_reader = std::ranges::any_of(
      plan.parts, [](const DraftPart& part) { return part.algorithm->reads_predictions; });
  for (const Algorithm* row : algorithms())
    if (row->is_service() && row->serves(options) && !(row->reads_predictions && has_reader))
      plan.parts.push_back({row, row->shape(options, target_architecture)});
}

void require_draft_models(const DraftOptions& options) {
  for (const Algorithm* row : algorithms_of(options))
    if (row->needs_folder) require_folder(options, row->name);
}

}  // namespace

std::string drafter_named(const std::string& name) {
  const std::string upper = upper_case(name);
  const Algorithm* row = find_algorithm(upper);
  return row == nullptr || row->stands_for.empty() ? upper : std::string(row->stands_for);
}

std::string unasked_algorithms(const std::string& target) {
  std::vector<std::string_view> names;
  const Algorithm* model = nullptr;
  for (const Algorithm* row : algorithms()) {
    if (row->drafts_unasked == nullptr || (row->runs_model() && model != nullptr)) continue;
    if (!row->drafts_unasked(target)) continue;
    if (row->runs_model()) model = row;
    names.push_back(row->name);
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

std::string algorithm_named(const std::string& name) {
  if (const std::string upper = upper_case(name); upper == "NONE" || upper == kUnasked) return {};
  std::vector<std::string_view> parts;
  const Algorithm* model = nullptr;
  for (const std::string& part : split(name)) {
    if (part.empty())
      throw Error({.what = "an empty name among several", .where = kFlag, .found = name});
    const Algorithm& row = one_algorithm_named(part);
    if (std::ranges::count(parts, row.name) > 0)
      throw Error(
          {.what = std::string(row.name) + " is named twice", .where = kFlag, .found = name});
    if (row.runs_model() && std::exchange(model, &row) != nullptr)
      throw Error({.what = "one drafter runs a model at most",
                   .where = kFlag,
                   .expected = names_of(text_algorithms()) + " beside it",
                   .found = name});
    parts.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(parts, "+"));
}

std::vector<const Algorithm*> algorithms_of(const DraftOptions& options) {
  std::vector<const Algorithm*> rows;
  for (const std::string& part : split(options.algorithm)) {
    rows.push_back(find_algorithm(part));
    CHECK(rows.back() != nullptr) << "no algorithm " << part;
  }
  return rows;
}

bool drafts_by(const DraftOptions& options, std::string_view algorithm) {
  return std::ranges::count(algorithms_of(options), algorithm, &Algorithm::name) > 0;
}

std::string model_algorithm(const DraftOptions& options) {
  for (const Algorithm* row : algorithms_of(options))
    if (row->runs_model()) return std::string(row->name);
  return {};
}

DraftPlan plan_drafts(const DraftOptions& options, const std::string& target_architecture) {
  DraftPlan plan;
  const auto rows = algorithms_of(options);
  for (const Algorithm* row : rows) {
    const TreeShape shape = rows.size() == 1
                                ? row->shape(options, target_architecture)
                                : shape_among_others(*row, options, target_architecture);
    plan.parts.push_back({row, shape});
    if (row->runs_model()) plan.model = shape;
    plan.shape.nodes = std::max(plan.shape.nodes, shape.nodes);
  }
  if (!plan.parts.empty()) {
    const TreeShape& told = plan.model.steps > 0 ? plan.model : plan.parts.front().shape;
    plan.shape.steps = told.steps;
    plan.shape.topk = told.topk;
  }
  add_services(options, target_architecture, plan);
  return plan;
}

int DraftPlan::max_nodes() const {
  int most = 1;
  for (const DraftPart& part : parts) most = std::max(most, part.shape.nodes);
  return most;
}

std::int64_t DraftPlan::most_drafts(int num_slots) const {
  std::int64_t drafts = std::int64_t{num_slots} * (shape.nodes - 1);
  for (const DraftPart& part : parts) drafts += part.algorithm->most_drafts;
  return drafts;
}

CorpusWish corpora_of(const DraftOptions& options) {
  for (const Algorithm* row : algorithms_of(options))
    if (row->corpora != nullptr)
      if (CorpusWish wish = row->corpora(options); wish.tokens > 0) return wish;
  return {};
}

void check_draft_wishes(const DraftOptions& options) {
  require_draft_models(options);
  plan_drafts(options, {});
}

void check_draft_models(const DraftOptions& options, const ModelConfig& target) {
  require_draft_models(options);
  for (const Algorithm* row : algorithms_of(options))
    if (row->check != nullptr) row->check(options, target);
}

std::string wished_drafter(const std::string& name, const DraftSetup& setup) {
  std::string named = drafter_named(name);
  const Algorithm* row = find_algorithm(named);
  if (row == nullptr || !row->is_service() || !row->reads_predictions ||
      !row->serves(setup.options))
    return named;
  const auto reader = std::ranges::find_if(
      setup.plan.parts, [](const DraftPart& part) { return part.algorithm->reads_predictions; });
  return reader == setup.plan.parts.end() ? named : std::string(reader->algorithm->name);
}

DraftSetup set_up_drafts(const DraftOptions& options, const std::string& target_architecture) {
  DraftSetup setup{.options = options, .plan = plan_drafts(options, target_architecture)};
  if (const std::int64_t tokens = corpora_of(options).tokens; tokens > 0)
    setup.corpora = std::make_shared<Corpora>(tokens);
  return setup;
}

}  // namespace foretoken
