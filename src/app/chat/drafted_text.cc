#include "app/chat/drafted_text.h"

#include <algorithm>

namespace foretoken {
namespace {

// What no text has taken may not pile up: an answer whose text is another one stays plain.
constexpr std::size_t kMostAhead = std::size_t{1} << 16;

bool is_inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

void DraftedText::add(const std::vector<ToldToken>& tokens) {
  if (bytes_.size() > kMostAhead) {
    bytes_.clear();
    origins_.clear();
  }
  for (const ToldToken& token : tokens) {
    bytes_ += token.bytes;
    origins_.push_back({bytes_.size(), token.drafter});
  }
}

const std::string& DraftedText::drafter_at(std::size_t byte) const {
  return std::ranges::upper_bound(origins_, byte, {}, &Origin::end)->drafter;
}

std::vector<DraftedText::Piece> DraftedText::split(std::string_view text) {
  std::vector<Piece> pieces;
  if (text.empty()) return pieces;
  const auto begin = bytes_.find(text);
  if (begin == std::string::npos) return {{text, {}}};
  for (std::size_t i = 0, start = 0; i < text.size(); ++i) {
    const bool is_last = i + 1 == text.size();
    if (!is_last && (is_inside_character(text[i + 1]) ||
                     drafter_at(begin + i + 1) == drafter_at(begin + start)))
      continue;
    pieces.push_back({text.substr(start, i + 1 - start), drafter_at(begin + start)});
    start = i + 1;
  }
  const std::size_t seen = begin + text.size();
  bytes_.erase(0, seen);
  std::erase_if(origins_, [&](const Origin& origin) { return origin.end <= seen; });
  for (Origin& origin : origins_) origin.end -= seen;
  return pieces;
}

}  // namespace foretoken
