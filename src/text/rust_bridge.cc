#include "text/rust_bridge.h"

namespace foretoken {

std::string take(FtBuffer buffer) {
  std::string text(buffer.data, buffer.size);
  ft_buffer_free(buffer);
  return text;
}

}  // namespace foretoken
