#pragma once
// ResponsesFormat: words the answers of /v1/responses, whole and as typed events, and keeps what a
// later request may go on from. Not the reading of requests. One per request, on its strand.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/chat/part_cursor.h"
#include "server/context/response_store.h"
#include "server/request/answer_format.h"
#include "server/routes/openai/chat_of_response.h"
#include "server/routes/openai/chat_plan.h"

namespace foretoken {

class ResponsesFormat final : public AnswerFormat {
 public:
  ResponsesFormat(const ServerContext& context, ChatAnswer answer, ResponseRequest request);

  const std::string& id() const { return id_; }

  void write_event(const RunningChoice& choice, std::string& out) override;
  void write_ending(const std::vector<RunningChoice>&, std::string&) override {}
  bool ends_with_done() const override { return false; }
  HttpReply whole(const std::vector<RunningChoice>& choices) override;

  // Keeps an answer that has only begun, for a client that asks for it later, and words what that
  // client gets now.
  HttpReply begin_in_background();

 private:
  // How far an item is, as its events and the whole answer show it.
  enum class State { kBegun, kWhole };

  template <typename Write>
  void event(std::string& out, std::string_view type, Write write);
  void write_part(const RunningChoice& choice, const PartCursor::News& news, std::string& out);
  void open_part(const RunningChoice& choice, const PartCursor::News& news, std::string& out);
  void close_part(const RunningChoice& choice, const PartCursor::News& news, std::string& out);
  void close_call(const PartCursor::News& news, std::string& out);
  bool is_custom(const AnswerPart& part) const;
  std::string item_id(const AnswerPart& part, std::size_t index) const;
  void write_item(JsonWriter& json, const RunningChoice& choice, std::size_t index, State state);
  void write_call(JsonWriter& json, const AnswerPart& part, State state) const;
  void write_content(JsonWriter& json, const RunningChoice& choice, std::size_t index, State state);
  // Of the bytes from..to of the first text; of no other part.
  void write_logprobs(JsonWriter& json, const RunningChoice& choice, std::size_t index,
                      std::size_t from, std::size_t to);
  void write_begun(JsonWriter& json, std::string_view status) const;
  void write_response(JsonWriter& json, const RunningChoice& choice);
  void write_usage(JsonWriter& json, const RunningChoice& choice) const;
  std::string conversation(const RunningChoice& choice) const;
  void keep(const RunningChoice& choice, std::string answer) const;

  const ServerContext& context_;
  OpenAiCommon common_;
  std::string id_;
  std::string echo_;      // JSON text of the fields that repeat the request, without braces
  std::string messages_;  // of the conversation so far; empty: it is not kept
  std::set<std::string, std::less<>> custom_tools_;
  bool is_in_background_ = false;
  PartCursor shown_;
  std::optional<std::size_t> text_place_;  // of the first text, in bytes of what the model wrote
  std::int64_t sequence_ = 0;              // number of the next event
};

}  // namespace foretoken
