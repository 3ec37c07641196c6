#pragma once
// The ways of drafting that `foretoken-bench accept` compares. A method is nothing but the flags
// that a user would give to `foretoken serve`.

#include <string>
#include <vector>

namespace foretoken {

struct DraftMethod {
  std::string name;
  std::string model;               // folder of the target
  std::vector<std::string> flags;  // the others
  std::vector<std::string> needs;  // files and folders without which the method is skipped
  bool drafts() const { return !flags.empty(); }
};

// Flags of a text, at its spaces.
std::vector<std::string> words_of(const std::string& text);

// The documented settings over the demo checkpoints in a folder.
std::vector<DraftMethod> demo_methods(const std::string& checkpoints);

// Plain decoding of one model, then a method for each text "NAME=FLAGS", with spaces between the
// flags. Throws Error.
std::vector<DraftMethod> methods_of(const std::string& model,
                                    const std::vector<std::string>& texts);

// Every method that drafts once for each value of a flag, named after it; all as they are where
// there are none.
std::vector<DraftMethod> with_variants(const std::vector<DraftMethod>& methods,
                                       const std::string& flag,
                                       const std::vector<std::string>& values);

// The first of method.needs that does not exist; empty: all are there.
std::string missing_for(const DraftMethod& method);

}  // namespace foretoken
