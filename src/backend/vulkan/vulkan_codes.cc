#include "backend/vulkan/vulkan_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/block_row.h"
#include "base/error.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

// 32 codes into words: of each the low bits, then its high ones.
void put_block(const std::uint8_t* codes, int bits, std::int64_t many, std::uint32_t* to) {
  const int low = bits >= 4 ? 4 : 2, high = bits - low;
  const auto put_plane = [&](int plane, int from, int first) {
    for (int k = 0; plane > 0 && k < VulkanCodes::kBlock; ++k) {
      const std::uint32_t part = codes[k] >> from & ((1 << plane) - 1);
      to[(first + k * plane / 32) * many] |= part << k * plane % 32;
    }
  };
  put_plane(low, 0, 0);
  put_plane(high, low, low);
}

// A number of 16 bits at its place among those that words hold.
void put_half(std::vector<std::uint32_t>& to, std::int64_t place, std::uint32_t bits) {
  to[at(place / 2)] |= bits << place % 2 * 16;
}

float without_denormals(float scale) {
  return std::abs(scale) < std::numeric_limits<float>::min() ? 0.0F : scale;
}

std::uint32_t byte_bits(std::int8_t number) { return static_cast<std::uint8_t>(number); }

std::unique_ptr<GpuPart> loaded(VulkanContext& context, const void* bytes, std::size_t count) {
  if (count == 0) return nullptr;
  auto block = context.heap.take(count);
  context.load(block->address(), count, [&](std::size_t offset, std::span<std::byte> piece) {
    std::memcpy(piece.data(), static_cast<const std::byte*>(bytes) + offset, piece.size());
  });
  return block;
}
template <typename T>
std::unique_ptr<GpuPart> loaded(VulkanContext& context, std::span<const T> values) {
  return loaded(context, values.data(), values.size_bytes());
}

Address address_if_there(const std::unique_ptr<GpuPart>& block) {
  return block ? block->address() : Address{0};
}

}  // namespace

// Of all groups of rows; each is written by one thread.
struct VulkanCodes::Images {
  std::vector<std::uint32_t> scales, minima, multiples, zeros;
};

VulkanCodes::VulkanCodes(VulkanContext& context, const WeightFormat& format,
                         std::span<const CodedRows* const> parts, ThreadPool& pool)
    : format_(format), width_(parts[0]->width()), blocks_(ceil_div(width_, kBlock)) {
  expect_format(width_);
  const std::int64_t per_scale = format.super > 0 ? format.super : format.group;
  blocks_per_scale_ = per_scale == 0 ? blocks_ : per_scale / kBlock;
  scales_per_row_ = ceil_div(blocks_, blocks_per_scale_);
  std::int64_t rows = 0;
  for (const CodedRows* part : parts) {
    CHECK(part->width() == width_);
    CHECK(std::ranges::equal(part->column_order(), parts[0]->column_order()));
    rows += part->rows();
  }
  const std::int64_t groups = ceil_div(rows, kGroup), words = kGroup * blocks_ * format.bits;
  const std::size_t group_bytes = at(words) * sizeof(std::uint32_t);
  codes_ = context.heap.take(at(groups) * group_bytes);
  Images images;
  const std::int64_t scales = groups * scales_per_row_ * kGroup;
  images.scales.resize(at(format.scale == DType::kF32 ? scales : scales / 2));
  if (format.has_minima) images.minima.resize(at(scales / 2));
  if (format.super > 0) images.multiples.resize(at(groups * blocks_ * kGroup / 2));
  if (format.has_zero_points) images.zeros.resize(at(scales / kGroup));
  // A few groups at a time.
  const std::int64_t step =
      std::max(std::int64_t{1}, static_cast<std::int64_t>((std::size_t{8} << 20) / group_bytes));
  for (std::int64_t first = 0; first < groups; first += step) {
    const std::int64_t many = std::min(step, groups - first);
    std::vector<std::uint32_t> made(at(many * words));
    pool.parallel_for(static_cast<int>(many), [&](int g, int) {
      for (std::int64_t c = 0; c < kGroup; ++c) {
        std::int64_t row = (first + g) * kGroup + c;
        if (row >= rows) break;
        std::size_t part = 0;
        for (; row >= parts[part]->rows(); ++part) row -= parts[part]->rows();
        put_row(*parts[part], row, c, &made[at(g * words)], images, first + g);
      }
    });
    const auto* from = reinterpret_cast<const std::byte*>(made.data());
    context.load(codes_->address() + at(first) * group_bytes, at(many) * group_bytes,
                 [&](std::size_t offset, std::span<std::byte> piece) {
                   std::memcpy(piece.data(), from + offset, piece.size());
                 });
  }
  scales_ = loaded<std::uint32_t>(context, images.scales);
  minima_ = loaded<std::uint32_t>(context, images.minima);
  multiples_ = loaded<std::uint32_t>(context, images.multiples);
  zeros_ = loaded<std::uint32_t>(context, images.zeros);
  if (format.has_column_order) order_ = loaded(context, parts[0]->column_order());
}

void VulkanCodes::expect_format(std::int64_t width) const {
  const WeightFormat& f = format_;
  CHECK((f.bits >= 2 && f.bits <= 6) || f.bits == 8) << "codes of " << f.bits << " bits";
  const bool is_of_halves = f.super > 0 || f.has_minima || f.is_listed();
  CHECK(!is_of_halves || f.scale == DType::kF16);
  CHECK(f.super == 0 || f.super == 256) << "supers of " << f.super;
  CHECK(f.super > 0 ? f.group == 16 || f.group == kBlock : f.group % kBlock == 0)
      << "groups of " << f.group;
  // Multiples of halves are bytes, and where there are minima two in a byte.
  CHECK(!(f.group == 16 && f.has_minima) || f.bits == 2);
  CHECK(!f.is_blocked() || width % std::max<std::int64_t>(f.super, kBlock) == 0)
      << "rows of " << width << " are no whole blocks";
}

void VulkanCodes::put_row(const CodedRows& rows, std::int64_t row, std::int64_t column,
                          std::uint32_t* codes, Images& images, std::int64_t group) const {
  const WeightFormat& f = format_;
  OwnBlockRow owner(f, width_);
  const BlockRow from = owner.view();
  std::vector<std::uint8_t> zeros(f.has_zero_points ? at(scales_per_row_) : 0);
  if (f.is_blocked())
    rows.read_blocks(row, from);
  else
    rows.read(row, from.codes, from.scales, f.has_zero_points ? zeros.data() : nullptr);

  constexpr std::int64_t kLanes = 32;
  for (std::int64_t start = 0; start < blocks_; start += kLanes) {
    const std::int64_t many = std::min(kLanes, blocks_ - start);
    for (std::int64_t b = 0; b < many; ++b) {
      std::uint8_t block[kBlock];
      std::fill_n(block, kBlock, static_cast<std::uint8_t>(f.zero()));
      const std::int64_t k = (start + b) * kBlock;
      std::copy_n(from.codes + k, std::min(kBlock, width_ - k), block);
      put_block(block, f.bits, many * kGroup,
                codes + (start * f.bits * kGroup + column * many + b));
    }
  }
  for (std::int64_t s = 0; s < scales_per_row_; ++s) {
    const std::int64_t place = (group * scales_per_row_ + s) * kGroup + column;
    const float scale = without_denormals(from.scales[s]);
    if (f.scale == DType::kF32)
      images.scales[at(place)] = std::bit_cast<std::uint32_t>(scale);
    else
      put_half(images.scales, place,
               f.scale == DType::kBF16 ? f32_to_bf16(scale) : f32_to_f16(scale));
    if (f.has_minima) put_half(images.minima, place, f32_to_f16(from.minima[s]));
    if (f.has_zero_points)
      images.zeros[at(place / kGroup)] |= std::uint32_t{zeros[at(s)]} << column * 8;
  }
  for (std::int64_t b = 0; f.super > 0 && b < blocks_; ++b) {
    const std::int8_t *scale = from.multiples, *minimum = from.min_multiples;
    std::uint32_t bits = 0;
    if (f.group == kBlock)
      bits = byte_bits(scale[b]) | (f.has_minima ? byte_bits(minimum[b]) << 8 : 0);
    else if (f.has_minima)
      bits = byte_bits(scale[2 * b]) | byte_bits(minimum[2 * b]) << 4 |
             byte_bits(scale[2 * b + 1]) << 8 | byte_bits(minimum[2 * b + 1]) << 12;
    else
      bits = byte_bits(scale[2 * b]) | byte_bits(scale[2 * b + 1]) << 8;
    put_half(images.multiples, (group * blocks_ + b) * kGroup + column, bits);
  }
}

std::size_t VulkanCodes::bytes() const {
  std::size_t all = 0;
  for (const auto* block : {&codes_, &scales_, &minima_, &multiples_, &zeros_, &order_})
    if (*block) all += (*block)->bytes();
  return all;
}

CodesAt VulkanCodes::place() const {
  return {address_if_there(codes_), address_if_there(scales_), address_if_there(minima_),
          address_if_there(multiples_), address_if_there(zeros_)};
}

Address VulkanCodes::order() const { return address_if_there(order_); }

std::int64_t VulkanCodes::group() const {
  const std::int64_t group = format_.input_group();
  return group == 0 ? blocks_ * kBlock : group;
}

bool VulkanCodes::fits_8_bits() const {
  if (format_.is_float) return false;
  return format_.bits < 8 || !(format_.has_zero_points || format_.has_minima);
}

std::uint32_t VulkanCodes::kind(std::int64_t rows) const {
  const WeightFormat& f = format_;
  const auto flag = [](bool is_set, int bit) { return std::uint32_t{is_set} << bit; };
  const std::uint32_t scale = f.scale == DType::kF16 ? 0 : f.scale == DType::kBF16 ? 1 : 2;
  const std::uint32_t list = f.list == CodeList::kNone ? 0 : f.list == CodeList::kIq4Nl ? 1 : 2;
  return static_cast<std::uint32_t>(rows) | static_cast<std::uint32_t>(f.bits) << 4 | scale << 8 |
         flag(f.has_minima, 10) | flag(f.super > 0, 11) | flag(f.group == 16, 12) | list << 13 |
         flag(f.is_float, 15) | flag(f.has_zero_points, 16) | flag(f.is_blocked(), 17) |
         flag(f.rounds_input, 18);
}

}  // namespace foretoken
