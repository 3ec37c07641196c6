#include "base/system_authorities.h"

#include <array>
#include <filesystem>

namespace foretoken {
namespace {

constexpr std::array kFiles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, Red Hat
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // their newer releases
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // Alpine without its package of them
};

}  // namespace

std::string system_authorities(const std::string& root) {
  for (const char* file : kFiles) {
    std::error_code unreadable;
    if (std::filesystem::is_regular_file(root + file, unreadable)) return root + file;
  }
  return {};
}

}  // namespace foretoken
