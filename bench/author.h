#pragma once
// Author: made-up texts for timing drafters that read them. And the clock for it.

#include <cmath>
#include <cstdint>
#include <ctime>
#include <random>
#include <vector>

#include "base/types.h"

namespace foretoken {

// Texts as languages make them: few frequent words, many rare ones; and now and then a quotation.
class Author {
 public:
  explicit Author(std::uint64_t seed, std::vector<Token>& told) : random_(seed), told_(told) {}

  Token next() {
    if (left_ == 0 && random_() % 32 == 0 && told_.size() > 1000) {
      quoted_ = random_() % (told_.size() - 100);
      left_ = 20 + random_() % 60;
    }
    Token token = 0;
    if (left_ > 0) {
      --left_;
      token = told_[quoted_++];
    } else {
      const double u = static_cast<double>(random_() % 1'000'000 + 1) / 1e6;
      token = static_cast<Token>(std::pow(32'000.0, u));
    }
    told_.push_back(token);
    return token;
  }

 private:
  std::mt19937_64 random_;
  std::vector<Token>& told_;
  std::size_t quoted_ = 0, left_ = 0;
};

// Of this thread's work: what others do on the machine meanwhile is not ours.
inline double thread_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace foretoken
