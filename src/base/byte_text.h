#pragma once
// Numbers of bytes as people read them. Memory is counted in GB of 2^30 bytes, as SGLang's logs and
// metrics do; files and downloads in units of powers of ten, as hubs do. Pure functions.

#include <cstddef>
#include <cstdint>
#include <string>

namespace foretoken {

// Of memory.
inline double gigabytes(std::size_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(std::size_t{1} << 30);
}

// Of files: "1.10 GB", "3.5 MB", "352 kB", "17 bytes".
std::string byte_text(std::int64_t bytes);
// The same always in MB, for columns: "1100.0 MB".
std::string megabyte_text(std::size_t bytes);

}  // namespace foretoken
