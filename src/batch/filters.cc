#include "batch/filters.h"

#include <algorithm>
#include <array>

#include "base/rng.h"

namespace foretoken {
namespace {

// Unsigned integers in the order of the floats; both zeros are one value.
std::uint32_t key_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x + 0.0F);
  return bits ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 0x80000000U);
}

float value_of(std::uint32_t key) {
  return std::bit_cast<float>(key & 0x80000000U ? key ^ 0x80000000U : ~key);
}

// How much of the order a cut keeps: an amount of weight, or a share of all there is.
struct Goal {
  double amount;
  bool is_share;
};

struct UnitWeight {
  float of(float) const { return 1.0F; }
};

struct MassWeight {
  float max;
  float of(float x) const { return exp_nonpositive(x - max); }
};

constexpr int kDigitBits = 11;
using Buckets = std::array<double, std::size_t{1} << kDigitBits>;

// Radix selection from the highest digit down: in each round the tokens that share the digits found
// so far fill the buckets of the next digit, and the bucket in which the goal is reached is it.
template <typename Weight>
class CutSearch {
 public:
  CutSearch(std::span<const float> logits, const Cut& within, Weight weight)
      : logits_(logits), within_(within), weight_(weight) {}

  Cut run(Goal goal) {
    std::uint32_t prefix = 0;
    for (const int shift : {21, 10, 0}) {
      const int bits = shift == 0 ? 10 : kDigitBits;
      fill(prefix, shift, bits);
      if (goal.is_share) {
        double all = 0.0;
        for (const double b : buckets_) all += b;
        goal = {goal.amount * all, false};
      }
      const int digit = choose(goal.amount);
      if (digit < 0) return within_;
      prefix = (prefix << bits) | static_cast<std::uint32_t>(digit);
    }
    return cut_among_equals(value_of(prefix), goal.amount);
  }

 private:
  // Weights of the tokens whose key starts with `prefix`, by the next `bits` bits.
  void fill(std::uint32_t prefix, int shift, int bits) {
    buckets_.fill(0.0);
    const std::uint32_t mask = (1U << bits) - 1U;
    // A group below both floors holds nothing to count.
    const std::uint64_t floor_key = std::uint64_t{prefix} << (shift + bits);
    const float floor =
        std::max(within_.x,
                 value_of(std::max(key_of(kMinusInfinity), static_cast<std::uint32_t>(floor_key))));
    for (std::size_t start = 0; start < logits_.size(); start += kLanes) {
      const std::size_t count = std::min(kLanes, logits_.size() - start);
      const float* x = &logits_[start];
      Lanes padded, weights;
      if (count < kLanes) {
        padded.fill(kMinusInfinity);
        std::copy_n(x, count, padded.begin());
        x = padded.data();
      }
      if (!any_at_least(x, floor)) continue;
      std::array<std::uint32_t, kLanes> keys;
      for (std::size_t i = 0; i < kLanes; ++i) keys[i] = key_of(x[i]);
      for (std::size_t i = 0; i < kLanes; ++i) weights[i] = weight_.of(x[i]);
      for (std::size_t i = 0; i < count; ++i)
        if ((std::uint64_t{keys[i]} >> (shift + bits)) == prefix &&
            within_.keeps(x[i], static_cast<std::int32_t>(start + i)))
          buckets_[(keys[i] >> shift) & mask] += static_cast<double>(weights[i]);
    }
  }

  static bool any_at_least(const float* x, float floor) {
    int any = 0;
    for (std::size_t i = 0; i < kLanes; ++i) any |= x[i] >= floor ? 1 : 0;
    return any != 0;
  }

  // The highest digit with which the weight so far reaches the goal; -1 when all falls short of it,
  // which rounding alone can bring about.
  int choose(double goal) {
    for (int digit = static_cast<int>(buckets_.size()) - 1; digit >= 0; --digit) {
      const double weight = buckets_[static_cast<std::size_t>(digit)];
      if (weight <= 0.0) continue;
      if (reached_ + weight >= goal) return digit;
      reached_ += weight;
    }
    return -1;
  }

  Cut cut_among_equals(float x, double goal) {
    const auto weight = static_cast<double>(weight_.of(x));
    Cut cut{x, -1};
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      if (logits_[i] != x || !within_.keeps(x, static_cast<std::int32_t>(i))) continue;
      cut.last_id = static_cast<std::int32_t>(i);
      reached_ += weight;
      if (reached_ >= goal) break;
    }
    return cut;
  }

  std::span<const float> logits_;
  Cut within_;
  Weight weight_;
  double reached_ = 0.0;  // weight above the digits found so far
  Buckets buckets_;
};

}  // namespace

Cut cut_top_k(std::span<const float> logits, int k) {
  if (static_cast<std::size_t>(k) >= logits.size()) return {};
  return CutSearch<UnitWeight>(logits, {}, {}).run({static_cast<double>(k), false});
}

Cut cut_top_p(std::span<const float> logits, float max, const Cut& within, float p) {
  if (p >= 1.0F) return within;
  return CutSearch<MassWeight>(logits, within, {max}).run({static_cast<double>(p), true});
}

Cut cut_min_p(float max, const Cut& within, float min_p) {
  if (min_p <= 0.0F) return within;
  const float floor = max + log_f32(std::min(std::max(min_p, 1e-30F), 1.0F));
  return floor > within.x ? Cut{floor} : within;
}

}  // namespace foretoken
