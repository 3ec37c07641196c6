#include "tune/settings.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/plan_drafts.h"

namespace foretoken {
namespace {

std::string budget_name(TreeBudget budget) { return budget == TreeBudget::kFull ? "full" : "auto"; }

std::string shape_name(const TreeShape& shape) {
  return fmt::format("{}/{}/{}", shape.steps, shape.topk, shape.nodes);
}

// Predictions and grammars are not part of any record.
TuneSetting setting_of(const SettingBase& base, std::string name, const std::string& algorithm,
                       TreeBudget budget) {
  TuneSetting setting{.name = std::move(name),
                      .draft = base.draft,
                      .plan = {},
                      .flags = {"--speculative-algorithm", algorithm}};
  setting.draft.algorithm = algorithm;
  setting.draft.budget = budget;
  setting.draft.serves_predictions = setting.draft.serves_constraints = false;
  setting.draft.steps = setting.draft.topk = setting.draft.nodes = std::nullopt;
  if (budget == TreeBudget::kMeasured) setting.name += ", auto";
  return setting;
}

void add_model(const SettingBase& base, const TreeShape& shape, TuneSetting& setting) {
  setting.draft.steps = shape.steps;
  setting.draft.topk = shape.topk;
  setting.draft.nodes = shape.nodes;
  setting.flags.insert(setting.flags.end(), base.flags.begin(), base.flags.end());
  for (const auto& [flag, value] : {std::pair{"--speculative-num-steps", shape.steps},
                                    std::pair{"--speculative-eagle-topk", shape.topk},
                                    std::pair{"--speculative-num-draft-tokens", shape.nodes}})
    setting.flags.insert(setting.flags.end(), {flag, std::to_string(value)});
}

void finish(const SettingBase& base, TuneSetting& setting) {
  setting.flags.insert(setting.flags.end(), {"--draft-budget", budget_name(setting.draft.budget)});
  setting.plan = plan_drafts(setting.draft, base.architecture);
}

}  // namespace

TuneSetting plain_setting() {
  TuneSetting setting{.name = "plain", .draft = {}, .plan = {}, .flags = {}};
  setting.draft.serves_predictions = false;
  return setting;
}

TuneSetting shape_setting(const SettingBase& base, const TreeShape& shape, TreeBudget budget) {
  TuneSetting setting =
      setting_of(base, base.algorithm + " " + shape_name(shape), base.algorithm, budget);
  add_model(base, shape, setting);
  finish(base, setting);
  return setting;
}

TuneSetting text_setting(const SettingBase& base, const std::string& algorithm, int nodes,
                         TreeBudget budget) {
  TuneSetting setting = setting_of(base, fmt::format("{} {}", algorithm, nodes), algorithm, budget);
  setting.draft.nodes = nodes;
  setting.flags.insert(setting.flags.end(),
                       {"--speculative-num-draft-tokens", std::to_string(nodes)});
  finish(base, setting);
  return setting;
}

TuneSetting union_setting(const SettingBase& base, const std::string& text_algorithm,
                          const TreeShape& shape, TreeBudget budget) {
  const std::string algorithm = base.algorithm + "+" + text_algorithm;
  TuneSetting setting = setting_of(base, algorithm + " " + shape_name(shape), algorithm, budget);
  add_model(base, shape, setting);
  finish(base, setting);
  return setting;
}

std::vector<TreeShape> grid_of_shapes(const SettingBase& base) {
  std::vector<TreeShape> shapes;
  if (base.algorithm.empty()) return shapes;
  for (const int steps : {1, 2, 3, 4, 5, 6, 8})
    for (const int topk : {1, 2, 4, 8}) {
      if (steps > base.steps || topk > base.topk) continue;
      if (topk == 1) {
        shapes.push_back({.steps = steps, .topk = 1, .nodes = steps + 1});
        continue;
      }
      for (const int nodes : {3, 4, 6, 8, 12, 16, 24, 32, 64})
        if (nodes > std::max(steps, topk) && nodes <= 1 + most_candidates(steps, topk))
          shapes.push_back({.steps = steps, .topk = topk, .nodes = nodes});
    }
  return shapes;
}

std::vector<TuneSetting> first_settings(const SettingBase& base) {
  std::vector<TuneSetting> settings;
  for (const TreeShape& shape : grid_of_shapes(base))
    settings.push_back(shape_setting(base, shape, TreeBudget::kFull));
  for (const Algorithm* text : text_algorithms())
    for (const int nodes : {9, 17, 33}) {
      if (text->least_nodes != nullptr && nodes < text->least_nodes(base.draft.own)) continue;
      settings.push_back(text_setting(base, std::string(text->name), nodes, TreeBudget::kMeasured));
    }
  return settings;
}

std::vector<TuneSetting> further_settings(const SettingBase& base,
                                          const std::vector<TuneSetting>& best) {
  std::vector<TuneSetting> settings;
  for (const TuneSetting& setting : best) {
    if (setting.plan.model.steps == 0) continue;
    settings.push_back(shape_setting(base, setting.plan.model, TreeBudget::kMeasured));
    // What came into the table last comes first.
    for (const Algorithm* text : text_algorithms() | std::views::reverse)
      settings.push_back(
          union_setting(base, std::string(text->name), setting.plan.model, TreeBudget::kMeasured));
  }
  return settings;
}

}  // namespace foretoken
