#include "draft/drafter.h"

namespace foretoken {
namespace {

class NullDrafter final : public Drafter {
 public:
  DraftNeeds needs() const override { return {}; }
  void open(SeqSlot, const DraftRequest&) override {}
  void close(SeqSlot) override {}
  void observe(const CommittedRows&) override {}
  void propose(std::span<const SeqSlot>, std::span<const TreeLimits>, DraftTrees&) override {}
};

}  // namespace

std::unique_ptr<Drafter> make_null_drafter() { return std::make_unique<NullDrafter>(); }

}  // namespace foretoken
