// libFuzzer's way into one target; FUZZ_TARGET is its function.

#include <cstddef>
#include <cstdint>

#include "base/log.h"
#include "targets.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  foretoken::set_log_level(foretoken::LogLevel::kOff);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foretoken::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
