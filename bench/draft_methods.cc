#include "bench/draft_methods.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "base/error.h"
#include "draft/catalogue/algorithms.h"

namespace foretoken {
namespace {

DraftMethod method_of(const DraftTrial& trial, std::string_view algorithm,
                      const std::string& checkpoints) {
  const auto file = [&](std::string_view name) { return checkpoints + "/" + std::string(name); };
  DraftMethod method{.name = std::string(trial.name),
                     .model = file(trial.target),
                     .flags = {"--speculative-algorithm", std::string(algorithm)},
                     .needs = {file(trial.target)}};
  const auto add_file = [&](const char* flag, std::string_view name) {
    if (name.empty()) return;
    method.flags.insert(method.flags.end(), {flag, file(name)});
    method.needs.push_back(file(name));
  };
  add_file("--speculative-draft-model-path", trial.draft);
  if (trial.shape.steps > 0)
    method.flags.insert(method.flags.end(),
                        {"--speculative-num-steps", std::to_string(trial.shape.steps),
                         "--speculative-eagle-topk", std::to_string(trial.shape.topk),
                         "--speculative-num-draft-tokens", std::to_string(trial.shape.nodes)});
  for (const auto& word : words_of(std::string(trial.flags))) method.flags.push_back(word);
  add_file("--speculative-token-map", trial.token_map);
  return method;
}

// Of algorithms that say nothing else: as they are without other flags.
std::vector<DraftTrial> trials_of(const Algorithm& row) {
  if (row.trials.empty() && row.can_draft() && !row.runs_model())
    return {DraftTrial{.name = row.name}};
  return {row.trials.begin(), row.trials.end()};
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<DraftMethod> demo_methods(const std::string& checkpoints) {
  // By target, each with plain decoding first.
  std::vector<std::vector<DraftMethod>> groups;
  for (const Algorithm* row : algorithms())
    for (const DraftTrial& trial : trials_of(*row)) {
      const DraftMethod method = method_of(trial, row->name, checkpoints);
      auto group = std::ranges::find_if(groups, [&](const std::vector<DraftMethod>& methods) {
        return methods.front().model == method.model;
      });
      if (group == groups.end()) {
        groups.push_back({{"plain", method.model, {}, {method.model}}});
        group = std::prev(groups.end());
      }
      group->push_back(method);
    }
  std::vector<DraftMethod> methods;
  for (const auto& group : groups) methods.insert(methods.end(), group.begin(), group.end());
  return methods;
}

std::vector<DraftMethod> methods_of(const std::string& model,
                                    const std::vector<std::string>& texts) {
  std::vector<DraftMethod> methods{{"plain", model, {}, {}}};
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || text.starts_with('-'))
      throw Error({"bad method", "--method", "NAME=FLAGS", text});
    methods.push_back({text.substr(0, equals), model, words_of(text.substr(equals + 1)), {}});
  }
  return methods;
}

std::vector<DraftMethod> with_variants(const std::vector<DraftMethod>& methods,
                                       const std::string& flag,
                                       const std::vector<std::string>& values) {
  if (values.empty()) return methods;
  std::vector<DraftMethod> all;
  for (const DraftMethod& method : methods) {
    if (!method.drafts()) all.push_back(method);
    for (const std::string& value : values) {
      if (!method.drafts()) break;
      DraftMethod& variant = all.emplace_back(method);
      variant.name += ", " + value;
      variant.flags.insert(variant.flags.end(), {flag, value});
    }
  }
  return all;
}

std::string missing_for(const DraftMethod& method) {
  std::error_code ignored;
  for (const std::string& path : method.needs)
    if (!std::filesystem::exists(path, ignored)) return path;
  return {};
}

}  // namespace foretoken
