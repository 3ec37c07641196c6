#pragma once
// SharedSource: makes a constraint for each choice of a request, from parts that all of them share.
// Not a constraint itself. Parts are only read, so any thread may ask.

#include <memory>
#include <utility>

#include "batch/token_constraint.h"

namespace foretoken {

template <typename Constraint, typename Parts>
class SharedSource final : public ConstraintSource {
 public:
  explicit SharedSource(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  explicit SharedSource(Parts parts)
      : SharedSource(std::make_shared<const Parts>(std::move(parts))) {}
  std::unique_ptr<TokenConstraint> start() const override {
    return std::make_unique<Constraint>(parts_);
  }

 private:
  std::shared_ptr<const Parts> parts_;
};

}  // namespace foretoken
