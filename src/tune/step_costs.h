#pragma once
// StepCosts: what the parts of a step take on one machine, for each number of requests at once that
// was measured. As JSON they go from machine to machine (--costs). Plain data.

#include <map>
#include <string>

#include "tune/cost_curve.h"

namespace foretoken {

struct StepCosts {
  CostCurve plain;    // a step without drafts and without a drafter, by sequences
  CostCurve target;   // from trees to what was found in them, by their rows
  CostCurve prompt;   // on top of that, by rows of prompts
  CostCurve reading;  // the draft model reads what was committed, by rows
  CostCurve roots;    // candidates below roots, by sequences
  CostCurve level;    // a level of the draft model, by rows
  CostCurve rest;     // what is left of drafting, by sequences

  void fit();
};

class CostTable {
 public:
  std::string machine;               // for people
  std::map<int, StepCosts> at_once;  // by requests at once

  bool empty() const { return at_once.empty(); }
  // Those of the nearest number of requests at once. There must be one.
  const StepCosts& of(int requests) const;

  std::string to_json() const;
  // Throws Error naming `where`.
  static CostTable parse(const std::string& json, const std::string& where);
};

}  // namespace foretoken
