#include "kv/prefix_hashes.h"

#include <random>

#include "base/rng.h"

namespace foretoken {
namespace {

std::uint64_t process_secret() {
  static const std::uint64_t secret = [] {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }();
  return secret;
}

std::uint64_t extend_hash(std::uint64_t hash, std::span<const Token> page) {
  for (std::size_t i = 0; i < page.size(); i += 2)
    hash = mix_seed(hash, std::uint64_t{static_cast<std::uint32_t>(page[i])} << 32 |
                              static_cast<std::uint32_t>(page[i + 1]));
  return hash;
}

}  // namespace

PrefixHashes::PrefixHashes(std::uint64_t salt)
    : salt_(salt), start_(mix_seed(process_secret(), salt)) {}

PrefixHashes::PrefixHashes(std::span<const Token> text, std::uint64_t salt) : PrefixHashes(salt) {
  extend(text);
}

void PrefixHashes::extend(std::span<const Token> text) {
  static_assert(kPageTokens % 2 == 0, "tokens are hashed in pairs");
  const std::size_t full = text.size() / kPageTokens;
  hashes_.reserve(full);
  for (std::size_t page = hashes_.size(); page < full; ++page)
    hashes_.push_back(extend_hash(page == 0 ? start_ : hashes_.back(),
                                  text.subspan(page * kPageTokens, kPageTokens)));
}

int PrefixHashes::common_pages(const PrefixHashes& other, int limit) const {
  if (limit == 0 || of(1) != other.of(1)) return 0;
  return largest_that(limit, limit, [&](int pages) { return of(pages) == other.of(pages); });
}

}  // namespace foretoken
