#include "model/config/expert_fields.h"

#include <optional>
#include <string>

#include "base/index.h"
#include "model/config/family_fields.h"

namespace foretoken {
namespace {

constexpr IntRange kCount{0, 1 << 14}, kWidth{1, 1 << 20};

int integer_or(const FileFields& fields, std::string_view key, IntRange range,
               std::int64_t absent) {
  return static_cast<int>(fields.integer(key, range).value_or(absent));
}

// Older and newer writers of one family have other names for it.
int expert_count(const FileFields& fields, std::int64_t absent) {
  std::optional<std::int64_t> found;
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    const auto count = fields.integer(key, kCount);
    if (count && found && *count != *found)
      fields.refuse(key, std::to_string(*found) + ", which another key says");
    if (count) found = count;
  }
  return static_cast<int>(found.value_or(absent));
}

}  // namespace

ExpertBlocks read_experts(const FileFields& fields, const ExpertKeys& keys) {
  ExpertBlocks experts;
  Routing& routing = experts.routing;
  routing.experts = expert_count(fields, keys.absent_count);
  if (routing.experts == 0) return experts;
  routing.chosen = integer_or(fields, keys.chosen, {1, kCount.high}, keys.absent_chosen);
  if (routing.chosen > routing.experts)
    fields.refuse(keys.chosen, "at most the " + std::to_string(routing.experts) + " experts");
  routing.normalises = fields.boolean("norm_topk_prob").value_or(keys.absent_normalises);
  experts.intermediate = integer_or(fields, keys.width, kWidth, keys.absent_width);
  return experts;
}

std::vector<bool> sparse_layers(const FileFields& fields, int layers) {
  const std::int64_t step = fields.integer("decoder_sparse_step", {1}).value_or(1);
  std::vector<bool> sparse;
  for (int layer = 0; layer < layers; ++layer) sparse.push_back((layer + 1) % step == 0);
  for (const std::int64_t layer : fields.integers("mlp_only_layers", {0, kCount.high}))
    if (layer < layers) sparse[at(layer)] = false;
  return sparse;
}

std::vector<bool> upper_layers(const FileFields& fields, int layers, std::int64_t absent) {
  const std::int64_t first = fields.integer("first_k_dense_replace", {0}).value_or(absent);
  std::vector<bool> upper;
  for (int layer = 0; layer < layers; ++layer) upper.push_back(layer >= first);
  return upper;
}

void read_groups(const FileFields& fields, Routing& routing) {
  routing.scale = static_cast<float>(factor(fields, "routed_scaling_factor", routing.scale));
  routing.groups = integer_or(fields, "n_group", {1, kCount.high}, routing.groups);
  routing.kept_groups = integer_or(fields, "topk_group", {1, kCount.high}, routing.kept_groups);
  if (routing.experts % routing.groups != 0)
    fields.refuse("n_group", "a divisor of " + std::to_string(routing.experts) + " experts");
  if (routing.kept_groups > routing.groups)
    fields.refuse("topk_group", "at most the " + std::to_string(routing.groups) + " of n_group");
  const int kept = routing.experts / routing.groups * routing.kept_groups;
  if (routing.chosen > kept)
    fields.refuse("num_experts_per_tok",
                  "at most the " + std::to_string(kept) + " experts of the groups that are kept");
  if (routing.group_tops > routing.experts / routing.groups)
    fields.refuse("n_group", "groups of at least " + std::to_string(routing.group_tops));
}

int shared_width(const FileFields& fields, const ExpertBlocks& experts, std::int64_t absent) {
  const int count = integer_or(fields, "n_shared_experts", kCount, absent);
  const std::int64_t width = std::int64_t{count} * experts.intermediate;
  if (width > kWidth.high) fields.refuse("n_shared_experts", "fewer experts");
  return static_cast<int>(width);
}

}  // namespace foretoken
