#include "base/cores.h"

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(Cores, there_is_at_least_one_and_none_is_empty) {
  const auto cores = usable_core_sets();
  ASSERT_FALSE(cores.empty());
  for (const cpu_set_t& core : cores) EXPECT_GE(CPU_COUNT(&core), 1);
}

TEST(Cores, no_cgroup_files_mean_no_limit) {
  const TestFolder root;  // stands for "/"
  EXPECT_EQ(cgroup_cpu_limit(root.path()), std::nullopt);
}

TEST(Cores, version_2_takes_the_smallest_quota_of_the_group_and_its_ancestors) {
  const TestFolder root;
  root.write("proc/self/cgroup", "0::/pod/server\n");
  root.write("sys/fs/cgroup/pod/server/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root.path()), std::nullopt);
  root.write("sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root.path()), 2.5);
  root.write("sys/fs/cgroup/pod/server/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root.path()), 0.5);
}

TEST(Cores, version_2_inside_a_container_reads_the_mount_when_the_group_is_not_visible) {
  const TestFolder root;
  root.write("proc/self/cgroup", "0::/../not/here\n");
  root.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root.path()), 3.0);
}

TEST(Cores, version_1_reads_the_cpu_controller) {
  const TestFolder root;
  root.write("proc/self/cgroup", "7:memory:/a\n4:cpu,cpuacct:/docker/x\n1:cpuset:/a\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root.path()), std::nullopt);
  root.write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "150000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root.path()), 1.5);
}

TEST(Cores, unreadable_text_is_no_limit) {
  const TestFolder root;
  root.write("proc/self/cgroup", "nonsense\n0::/a\n:\n");
  root.write("sys/fs/cgroup/a/cpu.max", "lots\n");
  root.write("sys/fs/cgroup/cpu.max", "0 0\n");
  EXPECT_EQ(cgroup_cpu_limit(root.path()), std::nullopt);
}

}  // namespace
}  // namespace foretoken
