#include "draft/from_text/ngram/corpus_order.h"

#include <algorithm>
#include <cstddef>

#include "base/index.h"

namespace foretoken {
namespace {

using Places = std::span<std::int32_t>;

// Places that agree in all tokens nearer than `distance`.
struct Part {
  Places places;
  int distance;
};

// Three parts by the token at a distance, that of a place in the middle being the border: texts
// repeat themselves, and what agrees is not compared again.
class Sorter {
 public:
  Sorter(std::span<const Token> tokens, const std::atomic<bool>* is_over)
      : tokens_(tokens), is_over_(is_over) {}

  bool sort(Places all) {
    parts_.push_back({all, 1});
    while (!parts_.empty()) {
      const Part part = parts_.back();
      parts_.pop_back();
      if (is_over()) return false;
      if (part.distance > kMostCorpusContext)
        std::ranges::sort(part.places);
      else if (part.places.size() <= kFew)
        std::ranges::sort(part.places, [&](std::int32_t a, std::int32_t b) {
          return comes_before(a, b, part.distance);
        });
      else if (!split(part))
        return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kFew = 1024, kBetweenLooks = std::size_t{1} << 16;

  bool is_over() const { return is_over_ != nullptr && *is_over_; }
  Token before(std::int32_t place, int distance) const {
    return token_before(tokens_, place, distance);
  }

  bool comes_before(std::int32_t a, std::int32_t b, int distance) const {
    for (; distance <= kMostCorpusContext; ++distance) {
      const Token x = before(a, distance), y = before(b, distance);
      if (x != y) return x < y;
      if (x == kDocumentEnd) break;
    }
    return a < b;
  }

  Token border_of(const Part& part) const {
    const std::size_t last = part.places.size() - 1;
    const auto token = [&](std::size_t i) { return before(part.places[i], part.distance); };
    const Token a = token(0), b = token(last / 2), c = token(last);
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
  }

  bool split(const Part& part) {
    const Places places = part.places;
    const Token border = border_of(part);
    std::size_t less = 0, next = 0, greater = places.size();
    for (std::size_t looked = 0; next < greater; ++looked) {
      if (looked % kBetweenLooks == 0 && is_over()) return false;
      const Token token = before(places[next], part.distance);
      if (token < border)
        std::swap(places[less++], places[next++]);
      else if (token > border)
        std::swap(places[next], places[--greater]);
      else
        ++next;
    }
    // What a document's begin precedes has nothing further in front.
    const int beyond = border == kDocumentEnd ? kMostCorpusContext + 1 : part.distance + 1;
    parts_.push_back({places.first(less), part.distance});
    parts_.push_back({places.subspan(less, greater - less), beyond});
    parts_.push_back({places.subspan(greater), part.distance});
    return true;
  }

  const std::span<const Token> tokens_;
  const std::atomic<bool>* const is_over_;
  std::vector<Part> parts_;
};

}  // namespace

Token token_before(std::span<const Token> tokens, std::int32_t place, int distance) {
  return place < distance ? kDocumentEnd : tokens[at(place - distance)];
}

bool sort_places(std::span<const Token> tokens, std::vector<std::int32_t>& places,
                 const std::atomic<bool>* is_over) {
  return Sorter(tokens, is_over).sort(places);
}

}  // namespace foretoken
