#include "model/heads/drafted_tokens.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::int64_t kUsualAlways = 16384;
constexpr DraftedTokens::Room kUsualRoom{.groups = 8, .group_size = 256};

}  // namespace

DraftedTokens::DraftedTokens(std::vector<Token> always, std::int64_t vocab, Room room)
    : list_(std::move(always)),
      always_(list_.size()),
      room_(room),
      groups_(at(room.groups)),
      is_listed_(at(vocab)) {
  CHECK(!list_.empty() && (room.groups == 0 || room.group_size > 0));
  for (const Token token : list_) is_listed_.at(at(token)) = true;
}

std::optional<DraftedTokens> DraftedTokens::usual(std::int64_t vocab) {
  const std::int64_t most = kUsualAlways + kUsualRoom.groups * kUsualRoom.group_size;
  if (vocab <= 2 * most) return std::nullopt;
  std::vector<Token> low(at(kUsualAlways));
  std::iota(low.begin(), low.end(), 0);
  return DraftedTokens(std::move(low), vocab, kUsualRoom);
}

std::span<const int> DraftedTokens::see(std::span<const Token> text) {
  changed_.clear();
  if (groups_.empty()) return changed_;
  for (const Token token : text)
    if (token >= 0 && at(token) < is_listed_.size() && !is_listed_[at(token)]) add(token);
  if (changed_.empty()) return changed_;
  std::ranges::sort(changed_);
  const auto twice = std::ranges::unique(changed_);
  changed_.erase(twice.begin(), twice.end());
  make_list();
  return changed_;
}

void DraftedTokens::add(Token token) {
  if (groups_[filling_].size() == at(room_.group_size)) {
    filling_ = (filling_ + 1) % groups_.size();
    for (const Token old : groups_[filling_]) is_listed_[at(old)] = false;
    groups_[filling_].clear();
  }
  groups_[filling_].push_back(token);
  is_listed_[at(token)] = true;
  changed_.push_back(static_cast<int>(filling_));
}

void DraftedTokens::empty_group(int group) {
  for (const Token old : groups_[at(group)]) is_listed_[at(old)] = false;
  groups_[at(group)].clear();
  make_list();
}

void DraftedTokens::make_list() {
  list_.resize(always_);
  for (const auto& group : groups_) list_.insert(list_.end(), group.begin(), group.end());
}

std::span<const Token> DraftedTokens::group(int group) const { return groups_[at(group)]; }

std::int64_t DraftedTokens::most() const {
  return static_cast<std::int64_t>(always_) + room_.groups * room_.group_size;
}

}  // namespace foretoken
