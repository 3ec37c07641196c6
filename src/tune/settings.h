#pragma once
// Which settings are replayed: shapes of the draft model's trees, drafters that read texts, both
// together, and trees sized by cost. Pure functions.

#include <string>
#include <vector>

#include "tune/replay.h"

namespace foretoken {

// What all settings have in common.
struct SettingBase {
  DraftOptions draft;              // as on the command line
  std::string algorithm;           // that runs a model and is recorded; empty: none
  std::string architecture;        // of the target
  std::vector<std::string> flags;  // of the draft model: its path, and what belongs to it
  int steps = 8, topk = 8;         // of the record
};

TuneSetting plain_setting();
// Of the model's trees alone.
TuneSetting shape_setting(const SettingBase& base, const TreeShape& shape, TreeBudget budget);
// An algorithm that runs no model, alone, with trees of `nodes` nodes.
TuneSetting text_setting(const SettingBase& base, const std::string& algorithm, int nodes,
                         TreeBudget budget);
// The model's trees of this shape joined with what texts give.
TuneSetting union_setting(const SettingBase& base, const std::string& text_algorithm,
                          const TreeShape& shape, TreeBudget budget);

// The shapes within the record: none without a draft model.
std::vector<TreeShape> grid_of_shapes(const SettingBase& base);
// What is replayed at first: all shapes, and texts alone.
std::vector<TuneSetting> first_settings(const SettingBase& base);
// What is replayed of the best of them: sized by cost, and joined with texts.
std::vector<TuneSetting> further_settings(const SettingBase& base,
                                          const std::vector<TuneSetting>& best);

}  // namespace foretoken
