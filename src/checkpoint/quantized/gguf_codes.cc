#include "checkpoint/quantized/gguf_codes.h"

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_codings.h"

namespace foretoken {

std::optional<WeightFormat> GgufCodes::format_of(GgufType type) {
  const GgufCoding* coding = gguf_coding(type);
  return coding == nullptr ? std::nullopt : std::optional(coding->format);
}

void GgufCodes::read(std::int64_t row, std::uint8_t* codes, float* scales, std::uint8_t*) const {
  read_blocks(row, {.codes = codes,
                    .scales = scales,
                    .minima = nullptr,
                    .multiples = nullptr,
                    .min_multiples = nullptr});
}

void GgufCodes::read_blocks(std::int64_t row, const BlockRow& to) const {
  const GgufCoding* coding = gguf_coding(rows_.type().type);
  CHECK(coding != nullptr) << "a type without codes";
  const WeightFormat& f = coding->format;
  const int elements = rows_.type().block_elements, groups = elements / static_cast<int>(f.group);
  const std::byte* block = rows_.row(first_ + row);
  for (std::int64_t k = 0, i = 0; k < rows_.width();
       k += elements, ++i, block += rows_.type().block_bytes)
    coding->read(
        block,
        {.codes = to.codes + k,
         .scale = to.scales + i,
         .minimum = f.has_minima ? to.minima + i : nullptr,
         .multiples = f.super > 0 ? to.multiples + i * groups : nullptr,
         .min_multiples = f.super > 0 && f.has_minima ? to.min_multiples + i * groups : nullptr});
}

}  // namespace foretoken
