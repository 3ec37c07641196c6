#pragma once
// The report of a benchmark run: medians over rounds, each round with its own roof beside it,
// because the speed of a shared machine drifts. Shares are medians of the rounds' shares, not
// shares of medians.

#include <string>
#include <vector>

#include "backend/measured_speed.h"

namespace foretoken {

// One kind of step and what a round measured of it.
struct Series {
  std::string name;
  int tokens = 1;               // tokens of output (decode) or prompt (prefill) per step
  double bytes = 0;             // read from memory per step: weights; of a decode its context, too
  double flops = 0;             // of the linears per step
  bool is_of_codes = false;     // its arithmetic is on codes
  std::vector<double> seconds;  // one per round
};

struct Report {
  std::vector<Roof> roofs;     // one per round
  std::vector<Series> series;  // the first is the plain decode step, to which others are compared
};

double median(std::vector<double> values);

// A table of text: time, tokens/s, GB/s and TFLOP/s with their shares of the roofs, ratio to the
// first.
std::string format_report(const Report& report);

}  // namespace foretoken
