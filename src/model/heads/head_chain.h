#pragma once
// HeadChain: draft heads of one make and one target, a head for each depth of a tree: what follows
// a root is drafted by the first, what follows its children by the second, and so on; from where
// they end the last goes on with what it made itself. All of them read all of the text, because
// each has KV of its own to look back at. In slot p head d holds x[p] with a feature of the text d
// tokens further up: the target's of the token at p - 1 - d, or what head d - 1 made of it, in its
// slot p - 1 (HeadConfig::all_read_target). That token's place is the rotary position, and slots 0
// .. d hold nothing. So a slot depends on the text up to it here, too; what heads made of a row for
// those behind it is carried to the next row.

#include <memory>
#include <span>
#include <vector>

#include "model/draft_model.h"
#include "model/heads/head_draft.h"

namespace foretoken {

class HeadChain final : public DraftModel {
 public:
  // By depth; at least two. all_read_target: see HeadConfig.
  HeadChain(StepOps& ops, std::vector<std::unique_ptr<HeadDraft>> heads, bool all_read_target);

  FeatureTaps taps() const override { return first().taps(); }
  std::int64_t tap_width() const override { return first().tap_width(); }
  int feature_width() const override { return first().feature_width(); }
  int carried_width() const override { return last_ * feature_width(); }
  Tensor features(const Features& target, std::span<const std::int32_t> rows) override {
    return first().features(target, rows);
  }
  std::size_t feature_bytes(std::int64_t rows) const override {
    return first().feature_bytes(rows);
  }
  std::size_t forward_bytes(std::int64_t rows) const override;
  ForwardSize forward_size(std::int64_t rows) const override;
  std::int64_t hidden_width() const override { return first().hidden_width(); }
  std::int64_t logit_width() const override { return first().logit_width(); }
  std::size_t logit_bytes(std::int64_t rows) const override { return first().logit_bytes(rows); }
  void allocate_kv(int num_pages) override;
  KvShape kv_shape() const override;
  std::size_t weight_bytes() const override;
  std::int64_t vocab() const override { return first().vocab(); }
  DraftRows forward(Batch& batch, const DraftInput& input) override;
  Tensor logits(Tensor hidden) override { return first().logits(hidden); }
  std::span<const Token> target_tokens() const override { return first().target_tokens(); }
  void see(std::span<const Token> text) override { first().see(text); }

 private:
  HeadDraft& first() const { return *heads_.front(); }
  std::int32_t part_of(std::int32_t row, int head) const { return row * last_ + head - 1; }
  void carry(Tensor made, int head, Tensor carried);
  Tensor carried_to(int head, Tensor carried);
  Tensor following(const Batch& batch, int head, Tensor made, Tensor before);

  StepOps& ops_;
  const std::vector<std::unique_ptr<HeadDraft>> heads_;
  const bool all_read_target_;
  const int last_;  // head
  std::vector<std::int32_t> from_, to_, positions_;
};

// The heads for all depths: one as it is, several as a chain. Arguments as for HeadDraft.
std::unique_ptr<DraftModel> make_heads(Ops& ops, std::span<const HeadConfig> heads,
                                       const WeightSource& weights, const Decoder& target,
                                       std::optional<DraftedTokens> drafted = {},
                                       const Quantization& quantization = {});

}  // namespace foretoken
