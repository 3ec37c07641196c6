#pragma once
// DraftReader: lets a draft model read what was committed, and the root behind it, so that trees
// can be grown from there. Not a drafter: it grows nothing. Allocates nothing once its vectors have
// grown. Engine thread only.
//
// What lies in KV slot p, and at which rotary position:
//
//   slot                     0       1           2       ...  n - 1           n (root)
//   a language model reads   x[0]    x[1]        x[2]         x[n-1]          x[n]        at p
//   a head reads             -       x[1] f[0]   x[2] f[1]    x[n-1] f[n-2]   x[n] f[n-1] at p - 1
//
//   x[p]  the token at p     f[p]  the target's feature of it     n  tokens committed
//
// Beside each page lies the feature of the last token read in it, and what the model carries from
// that row to the next one (HeadChain). So a sequence that goes on there, with the next step or
// after a prefix hit, finds both. Where nothing was carried to the first row of a reading, because
// what is before it went by unread, the target's feature stands in.
//
//   a sequence   | of what is committed the model reads | of the last 32 tokens are kept
//   -------------+--------------------------------------+-------------------------------
//   is awake     | all, and the root                    | nothing
//   rests        | prompts                              | tokens and features
//   sleeps       | nothing                              | tokens
//   wakes        | what it missed, if that is kept,     | nothing
//                | else the last whole pages kept       |
//
// Pages with unread slots are left out of what the model sees; positions stay as they are.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "base/index.h"
#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "model/draft_model.h"

namespace foretoken {

class DraftReader {
 public:
  // The model has its KV already, of num_pages pages. scratch_slots: that trees need behind the
  // root. References outlive the reader.
  DraftReader(Ops& ops, DraftModel& model, int num_pages, int num_slots, int scratch_slots);

  // Bytes beside the KV for each sequence at once.
  static std::size_t bytes_per_slot(const DraftModel& model);

  void open(SeqSlot slot);
  void read(const CommittedRows& rows, DraftPace& pace);

  // Of the last read: the rows, as chains, and what the model made of them.
  const Batch& batch() const { return batch_; }
  const DraftRows& found() const { return found_; }
  // Where a sequence's last row is in it, for those that have a root.
  std::int32_t place_of_root(std::int32_t sequence) const;
  // The batch of the last read for rows that go on behind it: its page lists stay as they are, its
  // rows and sequences are the caller's until the next read.
  Batch& lend_batch() { return batch_; }
  // The sequence in the batch whose last row is the slot's root; -1: it has none.
  std::int32_t sequence_of(SeqSlot slot) const { return slots_[at(slot)].seq; }

  bool reads_features() const { return shift_ > 0; }
  Token readable(Token token) const { return token < vocab_ ? token : 0; }

 private:
  struct Slot {
    std::int32_t root = -1;    // KV slot of the root stored last, or -1
    std::int32_t missed = -1;  // first KV slot that went by unread since it was awake, or -1
    std::int32_t kept = -1;    // the features since this one are kept, or -1
    std::int32_t seq = -1;
    std::array<Token, kCatchUpTokens>
        token{};  // that went by unread, at its position modulo kCatchUpTokens
  };
  // Of a sequence its slots [first, length), then the root in slot `length`.
  struct Reading {
    std::int32_t first, length;
    bool has_root;
  };
  // Rows of a tensor that are copied to rows of another.
  struct RowCopies {
    std::vector<std::int32_t> from, to;
    void add(std::int32_t source, std::int32_t target) {
      from.push_back(source);
      to.push_back(target);
    }
    void clear() {
      from.clear();
      to.clear();
    }
  };
  // Features to compute from some source, and where they go.
  struct FeatureRows {
    std::vector<std::int32_t> source;  // rows of it
    RowCopies to_batch, to_pages;
    void clear() {
      source.clear();
      to_batch.clear();
      to_pages.clear();
    }
  };

  void layout(const CommittedRows& rows, const DraftPace& pace);
  Reading choose_reading(const CommittedRows& rows, std::size_t i, bool rests) const;
  void pass_by(const CommittedRows& rows, std::size_t i, bool is_kept);
  std::int32_t first_after_rest(const Slot& slot, std::int32_t base) const;
  void mark(std::span<const PageId> pages, std::int32_t from, std::int32_t to, bool is_read);
  void add_sequence(const CommittedRows& rows, std::size_t i, const Reading& reading);
  std::int32_t list_pages(std::span<const PageId> pages, std::int32_t first, std::int32_t end);
  void list_features(const CommittedRows& rows, std::size_t i, const Reading& reading);
  void list_carried(const CommittedRows& rows, std::size_t i, const Reading& reading);
  Tensor features_of_batch(const Features& target);
  Tensor carried_to_batch(Tensor features);
  void keep_carried();
  void deliver(const Features& source, const FeatureRows& rows, Tensor out);
  void keep(const Features& target);

  StepOps& ops_;
  DraftModel& model_;
  const Token vocab_;         // of the model's input
  const std::int32_t shift_;  // 1 where a row's feature, and its rotary position, is of the token
                              // before it; that leaves slot 0 empty
  const int carried_width_;
  const int scratch_slots_;
  std::vector<Slot> slots_;
  std::vector<char> is_read_;  // by page: all its committed slots
  Tensor page_feature_;        // [pages, feature width]: of the last token read in each
  Tensor page_carried_;        // [pages, carried width]: from the same token's row
  Tensor root_carried_;        // [slots, carried width]: from the root stored last
  Features kept_;  // [slots * kCatchUpTokens, width] each: of tokens that went by unread

  Batch batch_;
  DraftRows found_;
  FeatureRows from_target_, from_kept_;
  RowCopies from_pages_;  // features to rows of the batch
  RowCopies to_kept_;     // rows of the target to rows of kept_
  // What is carried: to sequences of the batch, from its rows, and from roots to their pages.
  RowCopies carried_from_pages_, carried_from_roots_, carried_to_pages_, carried_to_roots_;
  RowCopies roots_to_pages_;
  std::vector<std::int32_t> first_rows_;  // of the batch's sequences
};

// A row of the newest sequence, stored at index `slot` of its pages.
void add_draft_row(Batch& batch, Token token, std::int32_t position, std::int32_t slot,
                   std::uint64_t mask);

}  // namespace foretoken
