#include "server/routes/openai/completions_format.h"

#include <algorithm>
#include <cmath>

#include "server/request/told_drafts.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

// Characters, not bytes: what a client's string offsets mean.
std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace

// Where the tokens of an echoed prompt stand in its text, in characters. Tokens that the text does
// not show (the begin token that encoding adds, special ones of a prompt given as ids) take no
// room.
class EchoOffsets {
 public:
  EchoOffsets(const Tokenizer& tokenizer, std::string_view text)
      : tokenizer_(tokenizer), text_(text) {}

  // The offset of the next token.
  std::size_t next(Token token) {
    const std::size_t offset = characters_;
    std::string_view piece = tokenizer_.piece(token);
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(piece)) {
      if (tokenizer_.is_special(token)) return offset;
      // Some tokenizers put a space before the text. Other differences are a normalizer's work:
      // then the piece is as good a guess as any.
      if (at_ == 0 && piece.starts_with(' ')) piece.remove_prefix(1);
    }
    const std::size_t bytes = std::min(piece.size(), rest.size());
    characters_ += characters(rest.substr(0, bytes));
    at_ += bytes;
    return offset;
  }

 private:
  const Tokenizer& tokenizer_;
  std::string_view text_;
  std::size_t at_ = 0, characters_ = 0;
};

// The four parallel lists of OpenAI's completion logprobs.
struct CompletionFormat::Logprobs {
  const Tokenizer& tokenizer;
  bool with_top;
  JsonWriter tokens, logprobs, tops, offsets;

  Logprobs(const Tokenizer& text_tokenizer, bool top) : tokenizer(text_tokenizer), with_top(top) {
    tokens.begin_array();
    logprobs.begin_array();
    tops.begin_array();
    offsets.begin_array();
  }

  void add(const SampledToken& token, std::size_t offset) {
    tokens.string(lossy_utf8(tokenizer.piece(token.token)));
    offsets.integer(static_cast<std::int64_t>(offset));
    if (std::isnan(token.logprob)) {  // the first token of a prompt has none
      logprobs.null();
      tops.null();
      return;
    }
    logprobs.number(shown_logprob(token.logprob));
    tops.begin_object();
    for (const TopLogprob& top : token.top)
      tops.field(lossy_utf8(tokenizer.piece(top.token)), shown_logprob(top.logprob));
    tops.end_object();
  }

  void write(JsonWriter& json) {
    json.begin_object();
    json.key("text_offset").raw(offsets.end_array().text());
    json.key("token_logprobs").raw(logprobs.end_array().text());
    json.key("tokens").raw(tokens.end_array().text());
    json.key("top_logprobs");
    if (with_top)
      json.raw(tops.end_array().text());
    else
      json.null();
    json.end_object();
  }
};

const std::string& CompletionFormat::echo_of(const RunningChoice& choice) const {
  static const std::string kNone;
  return echo_.empty() ? kNone : echo_[static_cast<std::size_t>(choice.prompt_index)];
}

// Logprobs of what the choice gained; the echoed prompt's come with the first.
void CompletionFormat::write_logprobs(JsonWriter& json, const RunningChoice& choice) const {
  if (!choice.sampling.wants_logprobs()) {
    json.null();
    return;
  }
  Logprobs lists(*context_.tokenizer, choice.sampling.top_logprobs > 0);
  if (!echo_.empty() && !choice.opened) {
    EchoOffsets offsets(*context_.tokenizer, echo_of(choice));
    for (const SampledToken& token : choice.choice.prompt_scores())
      lists.add(token, offsets.next(token.token));
  }
  const std::size_t base = characters(echo_of(choice));
  const auto& tokens = choice.choice.tokens();
  std::size_t offset = base, bytes = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // Text may still be held back: then the offset is where the text will go on.
    const std::size_t begin = std::min(choice.choice.text_begin()[i], choice.choice.text().size());
    offset += characters(std::string_view(choice.choice.text()).substr(bytes, begin - bytes));
    bytes = begin;
    if (i >= choice.shown_tokens) lists.add(tokens[i], offset);
  }
  lists.write(json);
}

void CompletionFormat::write_choice(JsonWriter& json, const RunningChoice& choice,
                                    bool with_finish) const {
  json.begin_object().field("index", choice.index);
  const std::string text = choice.choice.text().substr(choice.shown_text);
  json.field("text", choice.opened ? text : echo_of(choice) + text);
  json.key("logprobs");
  write_logprobs(json, choice);
  if (with_finish)
    write_finish(json, choice, context_, choice.shown_steps);
  else
    json.field_null("finish_reason").field_null("matched_stop");
  if (!with_finish) write_new_steps(json, choice, context_);
  if (!choice.opened) write_prompt_ids(json, choice);
  write_token_ids(json, common_, choice, choice.shown_tokens);
  write_meta_info(json, context_, common_, choice);
  write_hidden_state(json, choice);
  json.end_object();
}

void CompletionFormat::write_event(const RunningChoice& choice, std::string& out) {
  const bool finished = choice.choice.is_finished();
  const bool failed = finished && choice.choice.end()->kind == ChoiceEnd::Kind::kAbort &&
                      choice.choice.end()->status != 0;
  const bool fresh_text = choice.shown_text < choice.choice.text().size() || !choice.opened;
  const bool fresh_tokens =
      has_new_steps(choice) || ((choice.sampling.wants_logprobs() || common_.token_ids) &&
                                choice.shown_tokens < choice.choice.tokens().size());
  if (fresh_text || fresh_tokens || (finished && !failed)) {
    JsonWriter json;
    json.begin_object();
    write_opening(json, common_, "text_completion");
    json.key("choices").begin_array();
    write_choice(json, choice, finished && !failed);
    json.end_array();
    write_chunk_usage(json, common_, choice, context_.config);
    json.end_object();
    append_event(out, json.text());
  }
  if (failed) write_failure_event(choice.choice, out);
}

void CompletionFormat::write_ending(const std::vector<RunningChoice>& choices, std::string& out) {
  if (common_.cached_details)
    append_event(out, extension_chunk(common_, "text_completion", choices));
  if (common_.include_usage)
    append_event(out, usage_chunk(common_, "text_completion", choices, context_.config));
}

HttpReply CompletionFormat::whole(const std::vector<RunningChoice>& choices) {
  JsonWriter json;
  json.begin_object();
  write_opening(json, common_, "text_completion");
  json.key("choices").begin_array();
  for (const RunningChoice& choice : choices) write_choice(json, choice, true);
  json.end_array();
  write_closing(json, common_, choices, context_);
  return {.body = json.take()};
}

}  // namespace foretoken
