#pragma once
// DraftedText: joins the text of an answer with the tokens that its steps told, to say of each piece
// who drafted it. Text may lag behind its tokens (it may still become a stop), and tokens may have
// no text (the marks of reasoning). One thread at a time.

#include <string>
#include <string_view>
#include <vector>

#include "app/chat/answer_delta.h"

namespace foretoken {

class DraftedText {
 public:
  struct Piece {
    std::string_view text;
    std::string drafter;  // empty: nobody, or nobody knows
  };

  void add(const std::vector<ToldToken>& tokens);

  // The next text of the answer in pieces of whole characters; a character is of whom its first byte
  // is. Views into `text`.
  std::vector<Piece> split(std::string_view text);

 private:
  const std::string& drafter_at(std::size_t byte) const;

  struct Origin {
    std::size_t end;  // in bytes_
    std::string drafter;
  };
  std::string bytes_;  // told and not seen yet as text
  std::vector<Origin> origins_;
};

}  // namespace foretoken
