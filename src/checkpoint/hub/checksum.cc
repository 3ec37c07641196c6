#include "checkpoint/hub/checksum.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

}  // namespace

SumKind kind_of_sum(const std::string& sum) {
  if (!std::ranges::all_of(sum, [](unsigned char c) { return std::isxdigit(c) != 0; }))
    return SumKind::kNone;
  return sum.size() == 64   ? SumKind::kSha256
         : sum.size() == 40 ? SumKind::kGitSha1
                            : SumKind::kNone;
}

std::string sum_of_file(const std::filesystem::path& path, SumKind kind,
                        const std::function<void(std::size_t)>& on_bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> sum(EVP_MD_CTX_new(),
                                                                    EVP_MD_CTX_free);
  const EVP_MD* method = kind == SumKind::kSha256 ? EVP_sha256() : EVP_sha1();
  if (!sum || EVP_DigestInit_ex(sum.get(), method, nullptr) != 1)
    throw Error("the system's OpenSSL offers no SHA-1 or SHA-256");
  std::ifstream in(path, std::ios::binary);
  if (kind == SumKind::kGitSha1) {
    std::error_code failed;
    const std::string head = fmt::format("blob {}", std::filesystem::file_size(path, failed));
    EVP_DigestUpdate(sum.get(), head.c_str(), head.size() + 1);
  }
  std::vector<char> block(kBlock);
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto size = static_cast<std::size_t>(in.gcount());
    EVP_DigestUpdate(sum.get(), block.data(), size);
    if (on_bytes) on_bytes(size);
  }
  if (!in.eof()) throw Error({"cannot read file", path.string(), {}, {}});
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  EVP_DigestFinal_ex(sum.get(), bytes.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace foretoken
