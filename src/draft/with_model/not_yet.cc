// Algorithms of SGLang's whose names are known and refused.
#include "draft/algorithm.h"

namespace foretoken {
namespace {

using enum FlagKind;

std::vector<Flag> dflash_flags() {
  return {refused({"--speculative-dflash-block-size"}, kInteger, kMethodNotYet)};
}

std::vector<Flag> dspark_flags() {
  return {
      refused({"--speculative-dspark-block-size"}, kInteger, kMethodNotYet),
      refused({"--speculative-dspark-sps-table-path"}, kText, kMethodNotYet),
      refused({"--speculative-dspark-confidence-sts-path"}, kText, kMethodNotYet),
      refused({"--speculative-dspark-align-verify-tokens-to-graph-tier"}, kSwitch, kMethodNotYet),
  };
}

}  // namespace

extern constinit const Algorithm kDflash = {
    .name = "DFLASH", .standing = Algorithm::Standing::kNotYet, .flags = dflash_flags};

extern constinit const Algorithm kDspark = {
    .name = "DSPARK", .standing = Algorithm::Standing::kNotYet, .flags = dspark_flags};

}  // namespace foretoken
