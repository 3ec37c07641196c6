#include "text/dialogue/channel_parser.h"

#include <array>
#include <utility>

#include "base/log.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>",
                           kFunctions = "functions.";
// What ends a message, its own ends first.
constexpr std::array<std::string_view, 5> kEnds{"<|end|>", "<|call|>", "<|return|>", kStart,
                                                kChannel};
constexpr std::size_t kOwnEnds = 3;
constexpr std::size_t kMaxHeader = 1024;

// The word behind `mark`, up to white space or another mark.
std::string_view word_behind(std::string_view header, std::string_view mark) {
  const auto at = header.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = header.substr(at + mark.size());
  return rest.substr(0, rest.find_first_of(" \n\t<"));
}

}  // namespace

void ChannelParser::push(std::string_view text, AnswerParts& out) {
  if (is_over_) return;
  held_ += text;
  while (!is_over_ && step(out)) {
  }
}

void ChannelParser::finish(Ending ending, AnswerParts& out) {
  if (is_over_) return;
  if (at_ == At::kText || at_ == At::kReasoning || at_ == At::kCall) {
    if (at_ != At::kCall || ending == Ending::kComplete) say(held_, out);  // else half a mark
    if (at_ == At::kCall && !whole_ && options_.calls.whole_calls) {
      if (ending == Ending::kComplete || !begun_) return give_up(out);
      whole_ = true;  // cut off: shown as far as it goes
    }
    end_message(out);
  } else if (at_ == At::kBetween && begins_with(held_, kStart) != Begins::kMaybe) {
    out.text(held_);
  }
}

void ChannelParser::take(std::size_t bytes) {
  held_.erase(0, bytes);
  seen_ += bytes;
}

bool ChannelParser::step(AnswerParts& out) {
  if (at_ == At::kHeader) return read_header(out);
  if (at_ != At::kBetween) return read_message(out);
  if (held_.empty()) return false;
  for (const std::string_view mark : {kStart, kChannel}) {
    const Begins begins = begins_with(held_, mark);
    if (begins == Begins::kMaybe) return false;
    if (begins == Begins::kNo) continue;
    message_from_ = seen_;
    at_ = At::kHeader;
    return true;
  }
  at_ = At::kText;  // no message at all
  return true;
}

bool ChannelParser::read_header(AnswerParts& out) {
  const std::size_t end = held_.find(kMessage);
  const bool is_missing = end == std::string::npos;
  if (is_missing ? held_.size() >= kMaxHeader + kMessage.size() : end > kMaxHeader) {
    at_ = At::kText;
    say(std::string_view(held_).substr(0, 1), out);  // no header: what looked like its mark is text
    take(1);
    return true;
  }
  if (is_missing) return false;
  const std::string header = held_.substr(0, end);
  const std::string_view recipient = word_behind(header, "to=");
  raw_ = header + std::string(kMessage);
  take(raw_.size());
  call_bytes_ = 0;
  begun_ = whole_ = false;
  scanner_ = {};
  arguments_.clear();
  name_ = recipient.starts_with(kFunctions) ? recipient.substr(kFunctions.size()) : recipient;
  const bool is_reasoning = word_behind(header, kChannel) == "analysis";
  const auto& tools = options_.calls.tools;
  if (!recipient.empty() && tools != nullptr && tools->has(name_) && calls_ < kMaxCalls) {
    at_ = At::kCall;
  } else if (is_reasoning) {
    at_ = At::kReasoning;
    if (options_.separates_reasoning) out.open_reasoning(message_from_);
  } else {
    at_ = At::kText;
    if (!recipient.empty()) out.text(raw_);  // a call of what is no tool
  }
  return true;
}

bool ChannelParser::read_message(AnswerParts& out) {
  const FoundMark end = find_mark(held_, kEnds);
  if (end.at == std::string_view::npos) {
    const std::size_t certain = held_.size() - unfinished_mark(held_, kEnds);
    say(std::string_view(held_).substr(0, certain), out);
    take(certain);
    return false;
  }
  say(std::string_view(held_).substr(0, end.at), out);
  take(end.at + (end.which < kOwnEnds ? kEnds[end.which].size() : 0));
  end_message(out);
  return true;
}

void ChannelParser::say(std::string_view text, AnswerParts& out) {
  if (at_ == At::kCall)
    feed_call(text, out);
  else if (at_ == At::kReasoning && options_.separates_reasoning)
    out.reasoning(text);
  else
    out.text(text);
}

void ChannelParser::feed_call(std::string_view text, AnswerParts& out) {
  const bool streams = !options_.calls.whole_calls;
  if (!begun_) {
    const std::size_t white = leading_white(text);
    if (white == text.size()) {
      raw_ += text;
      return;
    }
    if (text[white] == '{') {
      raw_ += text.substr(0, white);
      text.remove_prefix(white);
      begun_ = true;
      if (streams) out.begin_call(name_, new_id());
    }
  }
  std::size_t used = 0;
  const auto state = begun_ && !whole_ ? scanner_.feed(text, used) : JsonScanner::State::kBroken;
  whole_ = whole_ || state == JsonScanner::State::kDone;
  if (!streams)
    arguments_.append(text, 0, used);
  else if (begun_)
    out.arguments(text.substr(0, used));
  if (!streams) raw_ += text;
  call_bytes_ += text.size();
  std::string_view left = text.substr(used);
  if (whole_ && streams) left.remove_prefix(leading_white(left));
  if (trimmed(left).empty() && call_bytes_ <= kMaxCallBytes &&
      (whole_ || state != JsonScanner::State::kBroken))
    return;
  if (streams) raw_ = begun_ ? std::string(left) : raw_ + std::string(left);
  give_up(out);
}

void ChannelParser::give_up(AnswerParts& out) {
  if (!warned_)
    log_warning("A call of a tool in the format of gpt-oss is left as text: it is malformed.");
  warned_ = true;
  if (begun_ && !options_.calls.whole_calls) {
    out.end_call();
    ++calls_;
  }
  at_ = At::kText;
  out.text(std::exchange(raw_, {}));
}

std::string ChannelParser::new_id() const {
  return options_.calls.new_id ? options_.calls.new_id() : std::string();
}

void ChannelParser::end_message(AnswerParts& out) {
  if (at_ == At::kCall && begun_ && (whole_ || !options_.calls.whole_calls)) {
    if (options_.calls.whole_calls) {
      out.begin_call(name_, new_id());
      out.arguments(arguments_);
    }
    out.end_call();
    ++calls_;
    is_over_ = options_.calls.one_call;
  } else if (at_ == At::kCall) {
    give_up(out);
  }
  if (at_ == At::kReasoning && options_.separates_reasoning) out.close_reasoning(seen_);
  at_ = At::kBetween;
}

}  // namespace foretoken
