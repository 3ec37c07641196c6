#include "batch/filters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "batch/row_loops.h"

namespace foretoken {
namespace {

// How much of the order a cut keeps: an amount of weight, or a share of all there is.
struct Goal {
  double amount;
  bool is_share;
};

// The mass of a row, and the few best tokens, are nearly always so near its greatest value.
constexpr float kNear = 8;
constexpr float kNoMass = std::numeric_limits<float>::quiet_NaN();  // tokens weigh 1
constexpr int kDigitBits = 11;
using Buckets = std::array<double, std::size_t{1} << kDigitBits>;

// Radix selection from the highest digit down: in each round the tokens that share the digits found
// so far fill the buckets of the next digit, and the bucket in which the goal is reached is it.
class CutSearch {
 public:
  // max: of the logits, where weights are masses; else a token weighs 1.
  CutSearch(std::span<const float> logits, const RowTops& tops, const Cut& within, float max)
      : logits_(logits), tops_(tops.parts), within_(within), max_(max) {}

  // near: what is below it need not be looked at if what is above reaches the goal.
  Cut run(Goal goal, float near = kMinusInfinity) {
    std::uint32_t prefix = 0;
    for (const int shift : {21, 10, 0}) {
      const int bits = shift == 0 ? 10 : kDigitBits;
      fill(prefix, shift, bits, near);
      if (near > kMinusInfinity && weight_found() < goal.amount) fill(prefix, shift, bits);
      near = kMinusInfinity;
      if (goal.is_share) goal = {goal.amount * weight_found(), false};
      const int digit = choose(goal.amount);
      if (digit < 0) return within_;
      prefix = (prefix << bits) | static_cast<std::uint32_t>(digit);
    }
    return cut_among_equals(value_of_key(prefix), goal.amount);
  }

 private:
  // Weights of the tokens whose key starts with `prefix`, by the next `bits` bits.
  void fill(std::uint32_t prefix, int shift, int bits, float near = kMinusInfinity) {
    buckets_.fill(0.0);
    const std::uint32_t mask = (1U << bits) - 1U;
    // A group below both floors holds nothing to count.
    const std::uint64_t floor_key = std::uint64_t{prefix} << (shift + bits);
    const auto lowest = std::max(order_key(kMinusInfinity), static_cast<std::uint32_t>(floor_key));
    const float floor = std::max({near, within_.x, value_of_key(lowest)});
    for (std::size_t start = 0; start < logits_.size(); start += RowLoops::kBlock) {
      const std::size_t count = std::min(RowLoops::kBlock, logits_.size() - start);
      if (!reaches(start, floor)) continue;
      const float* x = &logits_[start];
      if (count < RowLoops::kBlock) {
        padded_.fill(kMinusInfinity);
        std::copy_n(x, count, padded_.begin());
        x = padded_.data();
      }
      std::uint64_t groups = row_loops().weigh(x, floor, max_, keys_.data(), weights_.data());
      for (; groups != 0; groups &= groups - 1) {
        const std::size_t first = static_cast<std::size_t>(std::countr_zero(groups)) * kLanes;
        for (std::size_t i = first; i < std::min(first + kLanes, count); ++i)
          if ((std::uint64_t{keys_[i]} >> (shift + bits)) == prefix && x[i] >= near &&
              within_.keeps(x[i], static_cast<std::int32_t>(start + i)))
            buckets_[(keys_[i] >> shift) & mask] += static_cast<double>(weights_[i]);
      }
    }
  }

  // Whether any value of the block is at least `floor`.
  bool reaches(std::size_t start, float floor) const {
    constexpr std::size_t kParts = RowLoops::kBlock / RowLoops::kTop;
    const std::size_t first = start / RowLoops::kTop;
    const auto parts = tops_.subspan(first, std::min(kParts, tops_.size() - first));
    return std::ranges::any_of(parts, [&](float top) { return top >= floor; });
  }

  double weight_found() const {
    double all = 0.0;
    for (const double b : buckets_) all += b;
    return all;
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
    const auto weight = static_cast<double>(std::isnan(max_) ? 1.0F : exp_nonpositive(x - max_));
    Cut cut{x, -1};
    std::size_t next = 0;
    const auto find = [&] {
      return next + row_loops().first_equal(&logits_[next], logits_.size() - next, x);
    };
    for (; next < logits_.size() && (next = find()) < logits_.size(); ++next) {
      if (!within_.keeps(x, static_cast<std::int32_t>(next))) continue;
      cut.last_id = static_cast<std::int32_t>(next);
      reached_ += weight;
      if (reached_ >= goal) break;
    }
    return cut;
  }

  std::span<const float> logits_, tops_;
  Cut within_;
  float max_;
  double reached_ = 0.0;  // weight above the digits found so far
  Buckets buckets_;
  std::array<float, RowLoops::kBlock> padded_, weights_;
  std::array<std::uint32_t, RowLoops::kBlock> keys_;
};

}  // namespace

// Parts with a top above a value hold as many values above it, so what is below the kth of the tops
// need not be looked at.
Cut cut_top_k(std::span<const float> logits, const RowTops& tops, int k) {
  if (static_cast<std::size_t>(k) >= logits.size()) return {};
  float near = kMinusInfinity;
  if (static_cast<std::size_t>(k) <= tops.parts.size()) {
    std::vector<float> parts = tops.parts;
    const auto kth = parts.begin() + k - 1;
    std::ranges::nth_element(parts, kth, std::greater<>());
    near = *kth;
  }
  return CutSearch(logits, tops, {}, kNoMass).run({static_cast<double>(k), false}, near);
}

Cut cut_top_p(std::span<const float> logits, const RowTops& tops, const Cut& within, float p) {
  if (p >= 1.0F) return within;
  CutSearch search(logits, tops, within, tops.max);
  if (within.x > kMinusInfinity) return search.run({static_cast<double>(p), true});
  const double mass = row_loops().sum_exp(logits.data(), logits.size(), tops.max);
  return search.run({static_cast<double>(p) * mass, false}, tops.max - kNear);
}

Cut cut_min_p(float max, const Cut& within, float min_p) {
  if (min_p <= 0.0F) return within;
  const float floor = max + log_f32(std::min(std::max(min_p, 1e-30F), 1.0F));
  return floor > within.x ? Cut{floor} : within;
}

}  // namespace foretoken
