#pragma once
// What codes of 4 bits stand for that are places in a list. Constants; kernels include them.

#include <cstdint>

namespace foretoken {

enum class CodeList : std::uint8_t {
  kNone,
  kIq4Nl,  // llama.cpp's IQ4_NL and IQ4_XS
  kE2M1    // floats of 4 bits (MXFP4), twice their value
};

// Of a list. A template, so that each kernel reads a constant of its own.
template <CodeList List>
inline constexpr std::int8_t kListedCodes[16] = {};
template <>
inline constexpr std::int8_t kListedCodes<CodeList::kIq4Nl>[16] = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
template <>
inline constexpr std::int8_t kListedCodes<CodeList::kE2M1>[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                                  0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace foretoken
