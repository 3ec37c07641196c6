#pragma once
// What codes of a list stand for (llama.cpp's IQ4_NL). A constant; kernels include it.

#include <cstdint>

namespace foretoken {

inline constexpr std::int8_t kListedCodes[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace foretoken
