#include "app/machine/machine.h"

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(Machine, this_machine_has_memory) {
  const auto memory = read_memory();
  EXPECT_GT(memory.total_bytes, 64 * kMiB);
  EXPECT_GT(memory.available_bytes, 0U);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
}

class MadeUpMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    root_.write("proc/meminfo", "MemTotal:  1024000 kB\nMemFree: 1 kB\nMemAvailable: 819200 kB\n");
  }
  TestFolder root_;
};

TEST_F(MadeUpMachine, without_a_container_the_kernel_says_it_all) {
  const auto memory = read_memory(root_.path());
  EXPECT_EQ(memory.total_bytes, 1000 * kMiB);
  EXPECT_EQ(memory.available_bytes, 800 * kMiB);
}

TEST_F(MadeUpMachine, the_limit_of_a_cgroup_narrows_it) {
  root_.write("proc/self/cgroup", "0::/box/inner\n");
  root_.write("sys/fs/cgroup/box/memory.max", std::to_string(500 * kMiB));
  root_.write("sys/fs/cgroup/box/memory.current", std::to_string(200 * kMiB));
  root_.write("sys/fs/cgroup/box/memory.stat",
              "anon 5\ninactive_file " + std::to_string(100 * kMiB) + "\n");
  root_.write("sys/fs/cgroup/box/inner/memory.max", "max");
  const auto memory = read_memory(root_.path());
  EXPECT_EQ(memory.total_bytes, 500 * kMiB);
  EXPECT_EQ(memory.available_bytes, 400 * kMiB);
}

TEST_F(MadeUpMachine, inside_a_container_the_limit_stands_at_the_mount) {
  root_.write("proc/self/cgroup", "0::/../../not/visible\n");
  root_.write("sys/fs/cgroup/memory.max", std::to_string(300 * kMiB));
  EXPECT_EQ(read_memory(root_.path()).total_bytes, 300 * kMiB);
}

TEST_F(MadeUpMachine, the_first_version_of_cgroups_counts_as_well) {
  root_.write("proc/self/cgroup", "1:memory\n4:cpu:/x\n3:memory:/box\n");
  root_.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(250 * kMiB));
  root_.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(50 * kMiB));
  const auto memory = read_memory(root_.path());
  EXPECT_EQ(memory.total_bytes, 250 * kMiB);
  EXPECT_EQ(memory.available_bytes, 200 * kMiB);
}

}  // namespace
}  // namespace foretoken
