#pragma once
// Speeds that a backend measures on the machine it runs on. Plain data.

#include <string>

namespace foretoken {

// What the machine reaches at this moment, for benchmarks to set their figures against. 0: unknown.
struct Roof {
  double read_bytes_per_s = 0;  // streaming over memory far larger than the caches, all threads
  double flops_per_s = 0;       // the bf16 linear's own arithmetic on registers alone, all threads
  double code_ops_per_s = 0;    // the same of linears that round their input to codes
};

// How products of one shape are computed. Only their speed depends on it.
struct TunedProduct {
  std::string name;  // of the shape and format
  int rows = 0;      // the most rows of a product of this class
  std::string plan;  // in the backend's words
  double usual_seconds = 0, tuned_seconds = 0;
};

}  // namespace foretoken
