#include "base/system_authorities.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(SystemAuthorities, none_where_there_is_no_file) {
  const TestFolder root;
  EXPECT_EQ(system_authorities(root.path()), "");
}

TEST(SystemAuthorities, those_of_the_usual_distributions_are_found) {
  for (const std::string file :
       {"etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt",
        "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/ca-bundle.pem",
        "etc/ssl/cert.pem"}) {
    const TestFolder root;
    const std::string written = root.write(file, "-----BEGIN CERTIFICATE-----\n");
    EXPECT_EQ(system_authorities(root.path()), written);
  }
}

TEST(SystemAuthorities, a_folder_of_that_name_is_no_file) {
  const TestFolder root;
  std::filesystem::create_directories(root.path() + "/etc/ssl/cert.pem");
  EXPECT_EQ(system_authorities(root.path()), "");
}

}  // namespace
}  // namespace foretoken
