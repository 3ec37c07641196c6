#include "text/dialogue/call_parser.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "text/dialogue/marks.h"
#include "text/dialogue/python_list.h"

namespace foretoken {
namespace {

constexpr std::size_t kCompactBytes = 4096;
constexpr std::size_t kMaxWhite = 4096;  // held back at the end of text

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

CallParser::CallParser(const CallStyle& style, CallOptions options)
    : style_(style), options_(std::move(options)), begins_(style.begins) {
  if (style.object) object_ = make_object_body(*style.object);
  if (style.takes_python) python_ = make_python_body();
  if (style.named) named_ = make_named_body(*style.named);
  if (style.tagged) marked_ = make_tagged_body(*style.tagged, *options_.tools);
  if (style.elements) marked_ = make_element_body(*style.elements, *options_.tools);
  if (style.loose) marked_ = make_loose_body(*style.loose, *options_.tools);
}

void CallParser::push(std::string_view text, AnswerParts& out) {
  if (is_over_) return;
  if (read_ > kCompactBytes && read_ * 2 > input_.size()) {
    input_.erase(0, read_);
    read_ = 0;
  }
  input_ += text;
  out_ = &out;
  while (!is_over_ && step()) {
  }
  out_ = nullptr;
}

void CallParser::finish(Ending ending, AnswerParts& out) {
  if (is_over_) return;
  out_ = &out;
  if (at_ == At::kText) {
    say(rest());
  } else if (at_ == At::kBody) {
    // What a limit cut off is shown as far as it goes; what the model left unfinished is no call.
    const bool shows = begun_ && (ending == Ending::kCut || !options_.whole_calls);
    if (shows) {
      if (options_.whole_calls) {
        out.begin_call(name_, id_);
        out.arguments(held_arguments_);
      }
      out.end_call();
      white_.clear();
    } else {
      take(rest().size());
      give_up("it has no end");
    }
  } else if (at_ == At::kCallBegin || at_ == At::kSection) {
    take(rest().size());
    if (after_call_ && ending == Ending::kCut) raw_.clear();  // half a mark
    leave_section();
  }
  if (!after_call_) out.text(white_);
  out_ = nullptr;
}

bool CallParser::step() {
  switch (at_) {
    case At::kText:
      return read_text();
    case At::kSection:
      return read_section();
    case At::kCallBegin:
      return read_call_begin();
    case At::kBody:
      return read_body();
    case At::kCallEnd:
      return read_call_end();
  }
  return false;
}

void CallParser::take(std::size_t bytes) {
  const bool shown = begun_ && !options_.whole_calls;
  if (!shown) raw_ += rest().substr(0, bytes);
  read_ += bytes;
  call_bytes_ += bytes;
}

// White space is held back until something else follows: beside a call it is dropped.
void CallParser::say(std::string_view text) {
  const std::string_view inner = trimmed(text);
  if (inner.empty()) {
    white_ += text;
    if (white_.size() <= kMaxWhite || after_call_) {
      white_.resize(std::min(white_.size(), kMaxWhite));
      return;
    }
  } else {
    const auto end = static_cast<std::size_t>(inner.data() + inner.size() - text.data());
    if (after_call_) white_.clear();
    out_->text(white_);
    out_->text(after_call_ ? text.substr(leading_white(text), end - leading_white(text))
                           : text.substr(0, end));
    white_ = text.substr(end);
    has_text_ = true;
    after_call_ = false;
    return;
  }
  out_->text(std::exchange(white_, {}));
}

bool CallParser::read_text() {
  const std::string_view text = rest();
  if (text.empty()) return false;
  if (calls_ == kMaxCalls) {
    say(text);
    read_ += text.size();
    return false;
  }
  // A section without a mark begins where the answer does.
  if (!has_text_ && !style_.bare.empty()) {
    const std::size_t white = leading_white(text);
    if (white == text.size() && white < kMaxWhite) return false;
    if (white < text.size() && style_.bare.find(text[white]) != std::string_view::npos) {
      begin_section(0, style_.section_end);
      return true;
    }
  }
  if (python_ != nullptr && options_.tools != nullptr) return read_python_text();
  const FoundMark mark = find_mark(text, begins_);
  if (mark.at != std::string_view::npos) {
    say(text.substr(0, mark.at));
    read_ += mark.at;
    const std::string_view begin = begins_[mark.which];
    begin_section(begins_a_call(begin) ? 0 : begin.size(), style_.section_end);
    is_marked_ = true;
    return true;
  }
  const std::size_t certain = text.size() - unfinished_mark(text, begins_);
  say(text.substr(0, certain));
  read_ += certain;
  return false;
}

bool CallParser::read_python_text() {
  const std::string_view text = rest();
  const PythonList list = find_python_list(text, begins_, *options_.tools);
  say(text.substr(0, list.at));
  read_ += list.at;
  if (!list.begins) return false;
  begin_section(list.size, list.end.empty() ? std::string_view(style_.section_end) : list.end);
  is_marked_ = list.is_marked;
  return true;
}

// bytes: of the mark. end: what may stand behind the section.
void CallParser::begin_section(std::size_t bytes, std::string_view end) {
  section_end_ = end;
  raw_.clear();
  call_bytes_ = 0;
  begun_ = is_marked_ = false;
  has_text_ = true;  // nothing bare after it
  take(bytes);
  at_ = At::kSection;
}

// Before a call, between two, or behind the last.
bool CallParser::read_section() {
  if (call_bytes_ > kMaxCallBytes) return leave_section(), true;
  const std::string_view text = rest();
  if (text.empty()) return false;
  for (const std::string_view mark : style_.begins) {
    if (begins_a_call(mark)) continue;
    const Begins begins = begins_with(text, mark);
    if (begins == Begins::kMaybe) return false;
    if (begins == Begins::kNo) continue;
    take(mark.size());
    is_marked_ = true;
    return true;
  }
  if (is_white(text.front()) || style_.between.find(text.front()) != std::string_view::npos)
    return take(1), true;
  if (!section_end_.empty()) {
    const Begins ends = begins_with(text, section_end_);
    if (ends == Begins::kMaybe) return false;
    if (ends == Begins::kYes) {
      take(section_end_.size());
      if (!after_call_) leave_section();  // empty: it was text
      raw_.clear();
      at_ = At::kText;
      return true;
    }
  }
  mark_ = 0;
  at_ = At::kCallBegin;
  return true;
}

bool CallParser::read_call_begin() {
  for (; mark_ < style_.call_begin.size(); ++mark_) {
    std::string_view text = rest();
    if (mark_ > 0) {
      const std::size_t white = leading_white(text);
      take(white);
      text.remove_prefix(white);
    }
    const std::string_view mark = style_.call_begin[mark_];
    const Begins begins = begins_with(text, mark);
    if (begins == Begins::kMaybe) return false;
    if (begins == Begins::kNo) return leave_section(), true;
    take(mark.size());
  }
  take(leading_white(rest()));
  if (rest().empty()) return false;
  if (!choose_body()) return leave_section(), true;
  body_->start();
  begun_ = false;
  at_ = At::kBody;
  return true;
}

bool CallParser::choose_body() {
  const char c = rest().front();
  body_ = nullptr;
  if (marked_ != nullptr)
    body_ = marked_.get();
  else if (c == '{' && object_ != nullptr)
    body_ = object_.get();
  else if (python_ != nullptr && is_word(c))
    body_ = python_.get();
  else if (named_ != nullptr && c != '{' && (is_marked_ || !style_.call_begin.empty()))
    body_ = named_.get();
  return body_ != nullptr;
}

bool CallParser::read_body() {
  std::size_t used = 0;
  const CallBody::State state = body_->feed(rest(), used, *this);
  take(used);
  if (call_bytes_ > kMaxCallBytes) return give_up("it is too long"), true;
  switch (state) {
    case CallBody::State::kMore:
      return false;
    case CallBody::State::kBroken:
      return give_up("it is malformed, or there is no such tool"), true;
    case CallBody::State::kDone:
      end_call();
      return true;
  }
  return false;
}

bool CallParser::begin(std::string_view name, std::string id) {
  if (options_.tools == nullptr || !options_.tools->has(name)) return false;
  begun_ = true;
  if (id.empty() && options_.new_id) id = options_.new_id();
  if (options_.whole_calls) {
    name_ = name;
    id_ = std::move(id);
    held_arguments_.clear();
    return true;
  }
  raw_.clear();
  out_->begin_call(std::string(name), std::move(id));
  white_.clear();
  return true;
}

void CallParser::arguments(std::string_view json) {
  if (options_.whole_calls)
    held_arguments_ += json;
  else
    out_->arguments(json);
}

void CallParser::end_call() {
  if (options_.whole_calls) {
    out_->begin_call(std::move(name_), std::move(id_));
    out_->arguments(held_arguments_);
    held_arguments_.clear();
    white_.clear();
  }
  out_->end_call();
  ++calls_;
  begun_ = false;
  raw_.clear();
  call_bytes_ = 0;
  after_call_ = true;
  is_over_ = options_.one_call;
  is_marked_ = false;
  mark_ = 0;
  at_ = At::kCallEnd;
}

bool CallParser::read_call_end() {
  for (; mark_ < style_.call_end.size(); ++mark_) {
    const std::size_t white = leading_white(rest());
    take(white);
    const Begins begins = begins_with(rest(), style_.call_end[mark_]);
    if (begins == Begins::kMaybe) return false;
    if (begins == Begins::kYes) take(style_.call_end[mark_].size());
  }
  raw_.clear();
  call_bytes_ = 0;
  // Families without an end of the section begin each call with its mark.
  const bool goes_on =
      calls_ < kMaxCalls && (!style_.section_end.empty() || !style_.between.empty());
  at_ = goes_on ? At::kSection : At::kText;
  return true;
}

// No call follows: what was read since the last one is text, but for what closes lists.
void CallParser::leave_section() {
  at_ = At::kText;
  const std::string raw = std::exchange(raw_, {});
  std::string_view text = raw;
  if (after_call_) {
    while (!text.empty() &&
           (is_white(text.front()) || style_.between.find(text.front()) != std::string_view::npos))
      text.remove_prefix(1);
  }
  say(text);
}

void CallParser::give_up(std::string_view why) {
  // An answer that merely begins like a call is none.
  const bool is_news = !warned_ && (begun_ || is_marked_ || style_.bare.empty());
  if (is_news)
    log_warning("A call of a tool in the format of {} is left as text: {}.", style_.name, why);
  warned_ = warned_ || is_news;
  if (begun_ && !options_.whole_calls) {
    out_->end_call();
    ++calls_;
  }
  begun_ = false;
  held_arguments_.clear();
  leave_section();
}

}  // namespace foretoken
