#include "model/decoder/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/index.h"
#include "batch/tree.h"

namespace foretoken {
namespace {

using Kind = RopeScaling::Kind;

// base ^ (2 i / head_dim): the wavelength of pair i in positions, over 2 pi.
std::vector<float> wavelengths(double base, int head_dim) {
  std::vector<float> lengths(static_cast<std::size_t>(head_dim / 2));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    lengths[i] = static_cast<float>(std::pow(static_cast<float>(base), double{exponent}));
  }
  return lengths;
}

std::vector<float> inverse_of(std::vector<float> values) {
  for (float& value : values) value = 1.0F / value;
  return values;
}

double original_length(const ModelConfig& config) {
  return static_cast<double>(config.rope.original_max_position.value_or(config.max_position));
}

double scaling_factor(const ModelConfig& config) {
  return config.rope.factor.value_or(static_cast<double>(config.max_position) /
                                     original_length(config));
}

RopeFrequencies linear(const ModelConfig& config) {
  auto inverse = inverse_of(wavelengths(config.rope_theta, config.rotated()));
  for (float& frequency : inverse) frequency /= static_cast<float>(scaling_factor(config));
  return {inverse};
}

// NTK: a larger base for the whole table, by how far the context exceeds the trained length.
RopeFrequencies dynamic(const ModelConfig& config) {
  const auto trained = static_cast<double>(config.max_position);
  const double length = std::max(static_cast<double>(config.context_length), trained);
  const double factor = scaling_factor(config), dim = config.rotated();
  const double growth = factor * length / trained - (factor - 1.0);
  const double base = config.rope_theta * std::pow(growth, dim / (dim - 2.0));
  return {inverse_of(wavelengths(base, config.rotated()))};
}

// Long wavelengths are stretched by the factor, short ones are kept, those between interpolate.
RopeFrequencies llama3(const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  const auto factor = static_cast<float>(scaling_factor(config));
  const auto old_length = static_cast<float>(original_length(config));
  const auto low = static_cast<float>(rope.low_freq_factor);
  const auto high = static_cast<float>(rope.high_freq_factor);
  auto inverse = inverse_of(wavelengths(config.rope_theta, config.rotated()));
  for (float& frequency : inverse) {
    const float wavelength = static_cast<float>(2.0 * std::numbers::pi) / frequency;
    if (wavelength < old_length / high) continue;
    if (high == low && wavelength == old_length / low) continue;
    if (wavelength > old_length / low) {
      frequency /= factor;
      continue;
    }
    const float smooth = (old_length / wavelength - low) / (high - low);
    frequency = (1.0F - smooth) * frequency / factor + smooth * frequency;
  }
  return {inverse};
}

double yarn_magnitude(double scale, double weight) {
  return scale <= 1.0 ? 1.0 : 0.1 * weight * std::log(scale) + 1.0;
}

double yarn_attention_factor(const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  const double factor = scaling_factor(config);
  if (rope.attention_factor) return *rope.attention_factor;
  const double mscale = rope.mscale.value_or(0.0), all_dim = rope.mscale_all_dim.value_or(0.0);
  if (mscale != 0.0 && all_dim != 0.0)
    return yarn_magnitude(factor, mscale) / yarn_magnitude(factor, all_dim);
  return yarn_magnitude(factor, 1.0);
}

RopeFrequencies yarn(const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  const double dim = config.rotated();
  // The pair that turns `rotations` times within the original length.
  auto pair_turning = [&](double rotations) {
    return dim * std::log(original_length(config) / (rotations * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(config.rope_theta));
  };
  double low = pair_turning(rope.beta_fast), high = pair_turning(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;

  const auto factor = static_cast<float>(scaling_factor(config));
  auto inverse = wavelengths(config.rope_theta, config.rotated());
  for (std::size_t i = 0; i < inverse.size(); ++i) {
    const float extrapolated = 1.0F / inverse[i], interpolated = 1.0F / (factor * inverse[i]);
    const float ramp =
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float keep = 1.0F - std::clamp(ramp, 0.0F, 1.0F);
    inverse[i] = interpolated * (1.0F - keep) + extrapolated * keep;
  }
  return {inverse, static_cast<float>(yarn_attention_factor(config))};
}

RopeFrequencies longrope(const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  const double original = original_length(config), factor = scaling_factor(config);
  const bool is_long = static_cast<double>(config.context_length) > original;
  const std::vector<double>& stretch = is_long ? rope.long_factor : rope.short_factor;
  auto inverse = wavelengths(config.rope_theta, config.rotated());
  for (std::size_t i = 0; i < inverse.size(); ++i)
    inverse[i] = 1.0F / (static_cast<float>(stretch[i]) * inverse[i]);
  const double by_length =
      factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(factor) / std::log(original));
  return {inverse, static_cast<float>(rope.attention_factor.value_or(by_length))};
}

// Of the first pairs alone, by wavelengths of the whole head.
RopeFrequencies proportional(const ModelConfig& config) {
  auto inverse = inverse_of(wavelengths(config.rope_theta, config.rotated()));
  inverse.resize(at(static_cast<int>(config.rope.share * config.rotated() / 2)));
  for (float& frequency : inverse) frequency /= static_cast<float>(scaling_factor(config));
  return {inverse};
}

}  // namespace

double latent_magnitude(const ModelConfig& config) {
  const double weight = config.rope.mscale_all_dim.value_or(0.0);
  if (config.rope.kind == Kind::kNone || weight == 0.0) return 1.0;
  return yarn_magnitude(scaling_factor(config), weight);
}

RopeFrequencies rope_frequencies(const ModelConfig& config) {
  switch (config.rope.kind) {
    case Kind::kLinear:
      return linear(config);
    case Kind::kDynamic:
      return dynamic(config);
    case Kind::kYarn:
      return yarn(config);
    case Kind::kLongRope:
      return longrope(config);
    case Kind::kLlama3:
      return llama3(config);
    case Kind::kProportional:
      return proportional(config);
    case Kind::kNone:
      break;
  }
  return {inverse_of(wavelengths(config.rope_theta, config.rotated()))};
}

SinCos sin_cos(double angle) {
  // pi / 2 in pieces of 33 bits, so that its product with the quadrant is exact below 2^20.
  constexpr double kHigh = 0x1.921fb544p+0, kMiddle = 0x1.0b4611a6p-34,
                   kLow = 0x1.3198a2e037073p-69;
  const double quadrant = std::floor(angle * (2.0 / std::numbers::pi) + 0.5);
  const double r = ((angle - quadrant * kHigh) - quadrant * kMiddle) - quadrant * kLow;
  const double z = r * r;
  double odd = 1.0, even = 1.0;  // Taylor series, innermost term first; |r| <= pi / 4
  for (int n = 16; n >= 2; n -= 2) {
    odd = 1.0 - odd * z / static_cast<double>(n * (n + 1));
    even = 1.0 - even * z / static_cast<double>(n * (n - 1));
  }
  const double s = r * odd, c = even;
  switch (static_cast<std::int64_t>(quadrant) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

RopeTables::RopeTables(LoadOps& ops, const ModelConfig& config)
    : ops_(&ops), positions_(config.context_length + kMaxTreeNodes) {
  for (int layer = config.layers; layer-- > 0;) {
    const LayerRope rope = config.rope_of(layer);
    auto& [table, frequencies] = rope == LayerRope::kLocal ? local_ : main_;
    if (rope == LayerRope::kNone || !table.cos.empty()) continue;
    ModelConfig of_layer = config;
    of_layer.head_dim = config.heads_of(layer).dim;
    if (rope == LayerRope::kLocal) {
      of_layer.rope_theta = config.local_rope_theta;
      of_layer.rope = {};
    }
    frequencies = rope_frequencies(of_layer);
    const auto pairs = static_cast<std::int64_t>(frequencies.inverse.size());
    table = {.cos = ops.alloc(DType::kF32, {positions_, pairs}),
             .sin = ops.alloc(DType::kF32, {positions_, pairs}),
             .rotary_dim = of_layer.rotated()};
  }
}

void RopeTables::reach(const Batch& batch) {
  constexpr std::int64_t kBlock = 1024;  // positions: few copies, and no second table
  if (batch.position.empty()) return;
  const std::int64_t needed = std::int64_t{*std::ranges::max_element(batch.position)} + 1;
  CHECK(needed <= positions_) << "position " << needed - 1 << " of " << positions_;
  while (written_ < needed) {
    const std::int64_t rows = std::min(kBlock, positions_ - written_);
    for (const Growing* rope : {&main_, &local_})
      if (!rope->table.cos.empty()) write(*rope, written_, rows);
    written_ += rows;
  }
}

void RopeTables::write(const Growing& rope, std::int64_t first, std::int64_t rows) const {
  const auto& [table, frequencies] = rope;
  const std::int64_t pairs = table.cos.dim(1);
  std::vector<float> cos(at(rows * pairs)), sin(at(rows * pairs));
  for (std::int64_t i = 0; i < rows * pairs; ++i) {
    const float angle = static_cast<float>(first + i / pairs) * frequencies.inverse[at(i % pairs)];
    const SinCos value = sin_cos(angle);
    cos[at(i)] = static_cast<float>(value.cos) * frequencies.attention_factor;
    sin[at(i)] = static_cast<float>(value.sin) * frequencies.attention_factor;
  }
  ops_->upload({cos.data(), DType::kF32, {rows, pairs}}, table.cos.rows(first, rows));
  ops_->upload({sin.data(), DType::kF32, {rows, pairs}}, table.sin.rows(first, rows));
}

const RopeTable& RopeTables::of(LayerRope rope) const {
  if (rope == LayerRope::kNone) return none_;
  return rope == LayerRope::kLocal ? local_.table : main_.table;
}

std::size_t RopeTables::bytes() const {
  std::size_t bytes = 0;
  for (const Growing* rope : {&main_, &local_})
    if (!rope->table.cos.empty()) bytes += rope->table.cos.bytes() + rope->table.sin.bytes();
  return bytes;
}

}  // namespace foretoken
