// Which device is meant, by made-up lists of devices: no Vulkan is needed.

#include "backend/device_choice.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken::device_choice_test {
namespace {

DeviceFacts device(const std::string& name, DeviceKind kind) {
  return {.name = name,
          .kind = kind,
          .api_major = 1,
          .api_minor = 3,
          .shared_bytes = 32768,
          .group_size = 256,
          .has_compute_queue = true,
          .has_addresses = true,
          .has_timeline = true};
}

std::vector<DeviceFacts> laptop() {
  return {device("llvmpipe (LLVM 19, 256 bits)", DeviceKind::kSoftware),
          device("Integrated Graphics 630", DeviceKind::kIntegrated),
          device("GeForce 3090", DeviceKind::kDiscrete),
          device("GeForce 3090", DeviceKind::kDiscrete)};
}

std::string refusal(std::string_view wish, const std::vector<DeviceFacts>& devices) {
  try {
    choose_device(wish, devices);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceChoice, which_values_of_the_flag_mean_vulkan) {
  EXPECT_TRUE(means_vulkan("vulkan"));
  EXPECT_TRUE(means_vulkan("vulkan:"));
  EXPECT_TRUE(means_vulkan("vulkan:llvmpipe"));
  EXPECT_FALSE(means_vulkan("vulkan2"));
  EXPECT_FALSE(means_vulkan("Vulkan"));
  EXPECT_FALSE(means_vulkan("cpu"));
  EXPECT_FALSE(means_vulkan(""));
}

TEST(DeviceChoice, the_first_of_the_best_gpus_is_taken) {
  EXPECT_EQ(choose_device("vulkan", laptop()), 2U);
  auto devices = laptop();
  devices.resize(2);
  EXPECT_EQ(choose_device("vulkan", devices), 1U);
}

TEST(DeviceChoice, software_is_taken_only_by_name_or_number) {
  const std::vector<DeviceFacts> devices{laptop()[0]};
  const std::string text = refusal("vulkan", devices);
  EXPECT_NE(text.find("--device vulkan"), std::string::npos) << text;
  EXPECT_NE(text.find("software devices are taken only by name"), std::string::npos) << text;
  EXPECT_NE(text.find("0 llvmpipe (LLVM 19, 256 bits) (software)"), std::string::npos) << text;
  EXPECT_EQ(choose_device("vulkan:llvmpipe", devices), 0U);
  EXPECT_EQ(choose_device("vulkan:0", devices), 0U);
}

TEST(DeviceChoice, a_name_is_a_part_in_any_case_and_the_best_of_those_wins) {
  EXPECT_EQ(choose_device("vulkan:geforce", laptop()), 2U);
  EXPECT_EQ(choose_device("vulkan:LLVMPIPE", laptop()), 0U);
  EXPECT_EQ(choose_device("vulkan:Graphics 630", laptop()), 1U);
  EXPECT_EQ(choose_device("vulkan:3", laptop()), 3U);  // a number is no part of a name
}

TEST(DeviceChoice, what_is_not_there_is_refused_with_what_is) {
  EXPECT_NE(refusal("vulkan", {}).find("no Vulkan device at all"), std::string::npos);
  EXPECT_NE(refusal("vulkan:4", laptop()).find("3 GeForce 3090"), std::string::npos);
  EXPECT_NE(refusal("vulkan:radeon", laptop()).find("'radeon' in its name"), std::string::npos);
  EXPECT_NE(refusal("vulkan:", laptop()).find("after the colon"), std::string::npos);
  EXPECT_NE(refusal("vulkan:-1", laptop()), "");
  EXPECT_NE(refusal("vulkan:99999999999999999999999", laptop()), "");
}

TEST(DeviceChoice, a_device_that_lacks_something_is_passed_over_and_named_with_it) {
  auto devices = laptop();
  devices[2].has_addresses = false;
  EXPECT_EQ(choose_device("vulkan", devices), 3U);
  EXPECT_EQ(choose_device("vulkan:geforce", devices), 3U);
  const std::string text = refusal("vulkan:2", devices);
  EXPECT_NE(text.find("2 GeForce 3090 (discrete GPU, lacks buffer addresses)"), std::string::npos)
      << text;
}

TEST(DeviceChoice, each_need_is_told_by_its_name) {
  const DeviceFacts whole = laptop()[2];
  EXPECT_TRUE(lacking(whole).empty());
  const auto without = [&](auto change) {
    DeviceFacts facts = whole;
    change(facts);
    const auto lacks = lacking(facts);
    return lacks.size() == 1 ? lacks[0] : "";
  };
  EXPECT_EQ(without([](DeviceFacts& d) { d.api_minor = 1; }), "Vulkan 1.2");
  EXPECT_EQ(without([](DeviceFacts& d) { d.has_compute_queue = false; }), "a compute queue");
  EXPECT_EQ(without([](DeviceFacts& d) { d.has_addresses = false; }), "buffer addresses");
  EXPECT_EQ(without([](DeviceFacts& d) { d.has_timeline = false; }), "timeline semaphores");
  EXPECT_EQ(without([](DeviceFacts& d) { d.shared_bytes = 8192; }), "16 KB of shared memory");
  EXPECT_EQ(without([](DeviceFacts& d) { d.group_size = 32; }), "workgroups of 128");
}

}  // namespace
}  // namespace foretoken::device_choice_test
