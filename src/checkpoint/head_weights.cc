#include "checkpoint/head_weights.h"

#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

std::string usual_name(std::string name) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Pair, 5> kPrefixes{{{"model.", ""},
                                           {"midlayer.", "layers.0."},
                                           {"aux_norm_low.", "fc_norm.0."},
                                           {"aux_norm_mid.", "fc_norm.1."},
                                           {"aux_norm_high.", "fc_norm.2."}}};
  for (const auto& [from, to] : kPrefixes)
    if (name.starts_with(from)) name.replace(0, from.size(), to);
  return name;
}

class HeadWeights final : public WeightSource {
 public:
  explicit HeadWeights(std::unique_ptr<WeightSource> source) : source_(std::move(source)) {
    for (const std::string& name : source_->names()) {
      const auto [other, is_new] = stored_name_.try_emplace(usual_name(name), name);
      if (!is_new)
        throw Error({.what = "two tensors of the draft head mean the same",
                     .where = source_->where(),
                     .expected = "one of them",
                     .found = other->second + " and " + name});
    }
  }

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    if (!stored_name_.empty() && !stored_name_.contains(name)) return std::nullopt;
    return source_->find(stored(name), expected);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, stored] : stored_name_) names.push_back(name);
    return names;
  }
  std::string where() const override { return source_->where(); }
  void release(const std::string& name) const override { source_->release(stored(name)); }
  PackedCache* packed() const override { return source_->packed(); }

 private:
  const std::string& stored(const std::string& name) const {
    const auto found = stored_name_.find(name);
    return found == stored_name_.end() ? name : found->second;
  }

  std::unique_ptr<WeightSource> source_;
  std::map<std::string, std::string> stored_name_;  // by usual name; empty for made-up weights
};

}  // namespace

std::unique_ptr<WeightSource> head_weights(std::unique_ptr<WeightSource> source) {
  return std::make_unique<HeadWeights>(std::move(source));
}

}  // namespace foretoken
