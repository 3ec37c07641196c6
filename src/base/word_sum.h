#pragma once
// A checksum of bytes that is read as fast as memory delivers them: for files of weights, whose
// damage must be noticed within a start of seconds. Any one changed word changes it for certain,
// other damage does with the chance of 64 bits. No protection against damage that is made to fit.
// Pure function.

#include <cstddef>
#include <cstdint>
#include <span>

namespace foretoken {

std::uint64_t word_sum(std::span<const std::byte> bytes);

}  // namespace foretoken
