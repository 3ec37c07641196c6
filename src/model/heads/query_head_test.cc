// Heads that read the target's keys and values: whom they fit, and what is refused by name.
#include "model/heads/query_head.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/json_text.h"
#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/load.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kDrafts = FORETOKEN_SOURCE_DIR "/tests/golden/drafts/";
const std::string kHead = kDrafts + "heads/queries", kTarget = kDrafts + "targets/queries";

ModelConfig target() { return read_model_config(kTarget, {}); }

// What is said of the head with some keys of its config changed, or of those of its layers.
std::string fault(const boost::json::object& changes, const boost::json::object& of_layers = {},
                  const ModelConfig& model = target()) {
  boost::json::object config = *read_json_file(kHead + "/config.json");
  for (const auto& [key, value] : changes) config[key] = value;
  if (config.contains("text_config") && config["text_config"].is_object())
    for (const auto& [key, value] : of_layers) config["text_config"].as_object()[key] = value;
  TestFolder folder;
  folder.write("config.json", boost::json::serialize(config));
  return error_of([&] { read_query_head(folder.path(), model); });
}

TEST(QueryHeadConfig, each_layer_reads_the_last_one_of_its_kind_that_keeps_something) {
  // The target's layers slide in turns; the last two read what the first two keep.
  const QueryHeadConfig head = read_query_head(kHead, target());
  EXPECT_EQ(head.layer.layers, 3);
  EXPECT_THAT(head.layer.layer_kv, ElementsAre(3 + 0, 3 + 0, 3 + 1));
  EXPECT_THAT(head.layer.layer_window, ElementsAre(9, 9, 0)) << "the row itself does not count";
  EXPECT_EQ(head.target_hidden, 48);
  EXPECT_EQ(head.layer.kv_layers(), 0);
}

TEST(QueryHeadConfig, it_is_known_by_its_key) {
  EXPECT_TRUE(is_query_head(kHead));
  EXPECT_FALSE(is_query_head(kTarget));
  EXPECT_FALSE(is_query_head(kDrafts + "nothing"));
}

TEST(QueryHeadConfig, a_head_of_another_model_is_refused) {
  EXPECT_THAT(fault({{"backbone_hidden_size", 64}}), HasSubstr("expected backbone_hidden_size 48"));
  EXPECT_THAT(fault({}, {{"vocab_size", 65}}), HasSubstr("expected vocab_size 64"));
  EXPECT_THAT(fault({}, {{"head_dim", 12}}), HasSubstr("expected 2 KV heads of 8 in layer 0"));
  ModelConfig plain = target();
  plain.layer_window.clear();
  EXPECT_THAT(fault({}, {}, plain), HasSubstr("layers of the kinds that the head has"));
  ModelConfig latent = target();
  latent.latent.kv_rank = 8;
  EXPECT_THAT(fault({}, {}, latent), HasSubstr("keep keys and values"));
}

TEST(QueryHeadConfig, what_is_missing_or_not_computed_is_named) {
  EXPECT_THAT(fault({{"text_config", nullptr}}), HasSubstr("text_config"));
  EXPECT_THAT(fault({{"backbone_hidden_size", nullptr}}), HasSubstr("backbone_hidden_size"));
  EXPECT_THAT(fault({}, {{"model_type", "gpt2"}}), HasSubstr("a text model that is served"));
  EXPECT_THAT(fault({}, {{"hidden_size_per_layer_input", 8}, {"vocab_size_per_layer_input", 64}}),
              HasSubstr("inputs by layer or experts"));
}

}  // namespace
}  // namespace foretoken
