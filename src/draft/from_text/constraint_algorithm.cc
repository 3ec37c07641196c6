// The service that drafts what constraints let expect.
#include <utility>

#include "draft/algorithm.h"
#include "draft/from_text/constraint_drafter.h"

namespace foretoken {
namespace {

constexpr int kNodes = 17;  // of a tree, root included

bool serves(const DraftOptions& options) { return options.serves_constraints; }

TreeShape constraint_shape(const DraftOptions&, const std::string&) {
  return {.steps = kNodes - 1, .topk = 1, .nodes = kNodes};
}

std::unique_ptr<Drafter> make_constraint(PartSetup part) {
  return std::make_unique<ConstraintDrafter>(part.shape.nodes, kConstraintDrafts, part.num_slots,
                                             std::move(part.pace));
}

}  // namespace

extern constinit const Algorithm kConstraint = {
    .name = "GRAMMAR",
    .standing = Algorithm::Standing::kService,
    .shape = constraint_shape,
    .serves = serves,
    .most_drafts = kConstraintDrafts,
    .make = make_constraint,
};

}  // namespace foretoken
