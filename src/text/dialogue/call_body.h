#pragma once
// CallBody: reads one call in one of the ways in which models write them, from its first byte to
// its last, in pieces; not the marks around calls (call_parser.h). One call after the other:
// start() makes it ready for the next. Not thread-safe.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "text/dialogue/call_style.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {

// Takes what a body makes of the text.
class CallSink {
 public:
  virtual ~CallSink() = default;
  // False: there is no such tool. Then the call is broken.
  virtual bool begin(std::string_view name, std::string id) = 0;
  virtual void arguments(std::string_view json) = 0;
};

class CallBody {
 public:
  enum class State { kMore, kDone, kBroken };

  virtual ~CallBody() = default;
  virtual void start() = 0;
  // used: bytes of `text` that were taken. kMore with bytes left: they are needed again, with more
  // behind them. kBroken: the first byte that was not taken fits nowhere.
  virtual State feed(std::string_view text, std::size_t& used, CallSink& sink) = 0;
};

// A body that goes from place to place in the call.
class SteppedBody : public CallBody {
 public:
  State feed(std::string_view text, std::size_t& used, CallSink& sink) final {
    used = 0;
    while (true) {
      std::size_t taken = 0;
      const State state = step(text.substr(used), taken, sink);
      used += taken;
      if (state != State::kDone || is_over()) return state;
    }
  }

 private:
  // kDone: at the next place, or the call is over.
  virtual State step(std::string_view text, std::size_t& used, CallSink& sink) = 0;
  virtual bool is_over() const = 0;
};

// {"name": ..., "arguments": {...}}
std::unique_ptr<CallBody> make_object_body(const ObjectStyle& style);
// A name, a mark, and the arguments as a JSON object.
std::unique_ptr<CallBody> make_named_body(const NamedStyle& style);
// A name, and each parameter between marks. `schemas` outlives the body.
std::unique_ptr<CallBody> make_tagged_body(const TaggedStyle& style, const ToolSchemas& schemas);
// A name, and each parameter as an element, or as JSON without quotes: schemas tell lists from
// objects, and what values without quotes are.
std::unique_ptr<CallBody> make_element_body(const ElementStyle& style, const ToolSchemas& schemas);
std::unique_ptr<CallBody> make_loose_body(const LooseStyle& style, const ToolSchemas& schemas);
// name(key=value, ...)
std::unique_ptr<CallBody> make_python_body();

inline constexpr std::size_t kMaxNameBytes = 256;  // of a function or a parameter

// Where a name ends at `mark`, looked for no further than a name may reach.
inline std::size_t find_name_end(std::string_view text, std::string_view mark) {
  return text.substr(0, kMaxNameBytes + mark.size()).find(mark);
}
// While it is not found: whether more text may bring it, however the text was cut.
inline CallBody::State without_name_end(std::string_view text, std::string_view mark) {
  return text.size() < kMaxNameBytes + mark.size() ? CallBody::State::kMore
                                                   : CallBody::State::kBroken;
}

}  // namespace foretoken
