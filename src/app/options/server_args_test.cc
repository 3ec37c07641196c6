#include "app/options/server_args.h"

#include <gtest/gtest.h>

#include "app/testing/resolve.h"

namespace foretoken {
namespace {

TEST(ServerArgs, hold_every_flag_by_its_sglang_name_with_the_resolved_value) {
  const auto args = resolve({"--api-key", "secret", "--random-seed", "7", "--cuda-graph-bs", "1",
                             "2", "--enable-metrics"})
                        .server.server_args;
  const auto value = [&](const std::string& name) -> std::string {
    for (const auto& [key, json] : args)
      if (key == name) return json;
    return "missing";
  };
  EXPECT_EQ(value("model_path"), '"' + model_folder() + '"');
  EXPECT_EQ(value("tokenizer_path"), '"' + model_folder() + '"');
  EXPECT_EQ(value("random_seed"), "7");
  EXPECT_EQ(value("tp_size"), "1");
  EXPECT_EQ(value("speculative_algorithm"), "\"SUFFIX\"");
  EXPECT_EQ(value("enable_metrics"), "true");
  EXPECT_EQ(value("disable_radix_cache"), "false");
  EXPECT_EQ(value("cuda_graph_max_bs"), "null");
  EXPECT_EQ(value("cuda_graph_bs"), "[1,2]");
  EXPECT_EQ(value("schedule_conservativeness"), "1");
  EXPECT_EQ(value("page_size"), "16");
  EXPECT_EQ(value("api_key"), "\"***\"");
  EXPECT_EQ(value("admin_api_key"), "null");
}

TEST(ServerArgs, are_described_as_python_would) {
  ServerArgs args = {
      {"model_path", "\"m\""}, {"enable_metrics", "true"}, {"context_length", "null"}};
  set_server_arg(args, "context_length", "64");
  set_server_arg(args, "max_total_num_tokens", "32");
  EXPECT_EQ(describe_server_args(args),
            "ServerArgs(model_path='m', enable_metrics=True, context_length=64, "
            "max_total_num_tokens=32)");
}

}  // namespace
}  // namespace foretoken
