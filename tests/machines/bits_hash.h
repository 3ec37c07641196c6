#pragma once
// What programs of this folder print: lines "what hash". Two machines that keep the promise of equal
// bits print the same, whatever instructions they have.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "batch/sampling.h"

namespace foretoken {

// FNV-1a of 64 bits. All NaN are one: which bits they have is not promised.
class Hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ (word >> (8 * i) & 0xff)) * 0x100000001b3U;
  }
  void add(float value) {
    add(std::uint64_t{std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value)});
  }
  void add(const std::vector<float>& values) {
    for (const float value : values) add(value);
  }
  void add(const std::vector<SampledToken>& tokens) {
    add(std::uint64_t{tokens.size()});
    for (const SampledToken& token : tokens) {
      add(static_cast<std::uint64_t>(token.token));
      add(token.logprob);
      for (const TopLogprob& top : token.top) {
        add(static_cast<std::uint64_t>(top.token));
        add(top.logprob);
      }
      add(token.token_logprobs);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

inline void print(const std::string& what, const Hash& hash) {
  std::printf("%s %016llx\n", what.c_str(), static_cast<unsigned long long>(hash.value()));
  std::fflush(stdout);
}

}  // namespace foretoken
