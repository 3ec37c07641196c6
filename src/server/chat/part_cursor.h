#pragma once
// PartCursor: how far the events of a stream have shown the parts of an answer. One per choice.

#include <cstddef>
#include <string_view>

#include "text/dialogue/answer_parts.h"

namespace foretoken {

struct PartCursor {
  std::size_t part = 0;  // the first that is not shown whole
  std::size_t byte = 0;  // of its text
  bool opened = false;   // something of it was shown

  // What is new of one part.
  struct News {
    std::size_t index = 0;
    const AnswerPart& part;
    std::string_view text;  // new
    bool opens = false;     // the first of it
    bool closes = false;    // no more of it will come
  };

  // Calls `show` with what is new of each part, in order. is_last: nothing more will come at all.
  template <typename Show>
  void advance(const AnswerParts& parts, bool is_last, Show show) {
    const auto& list = parts.list();
    while (part < list.size()) {
      const bool closes = part + 1 < list.size() || is_last;
      const std::string_view text = std::string_view(list[part].text).substr(byte);
      if (!opened || !text.empty() || closes)
        show(News{
            .index = part, .part = list[part], .text = text, .opens = !opened, .closes = closes});
      opened = !closes;
      byte = closes ? 0 : list[part].text.size();
      if (!closes) return;
      ++part;
    }
  }
};

}  // namespace foretoken
