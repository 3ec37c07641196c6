// NAME, a mark, and the arguments as a JSON object.

#include "text/dialogue/call_body.h"
#include "text/dialogue/json_scanner.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

class NamedBody final : public CallBody {
 public:
  explicit NamedBody(const NamedStyle& style) : style_(style) {}

  void start() override {
    has_name_ = begun_ = false;
    scanner_ = {};
  }

  State feed(std::string_view text, std::size_t& used, CallSink& sink) override {
    used = 0;
    if (!has_name_) {
      const State state = read_name(text, used);
      if (state != State::kDone) return state;
    }
    if (!begun_) {
      used += leading_white(text.substr(used));
      if (used == text.size()) return State::kMore;
      if (text[used] != '{' || !begin(sink)) return State::kBroken;
      begun_ = true;
    }
    std::size_t taken = 0;
    const auto state = scanner_.feed(text.substr(used), taken);
    sink.arguments(text.substr(used, taken));
    used += taken;
    if (state == JsonScanner::State::kMore) return State::kMore;
    return state == JsonScanner::State::kDone ? State::kDone : State::kBroken;
  }

 private:
  State read_name(std::string_view text, std::size_t& used) {
    const std::size_t mark = find_name_end(text, style_.name_end);
    const std::size_t brace =
        style_.ends_at_brace ? find_name_end(text, "{") : std::string_view::npos;
    const std::size_t end = std::min(mark, brace);
    if (end == std::string_view::npos) return without_name_end(text, style_.name_end);
    name_ = trimmed(text.substr(0, end));
    used = end + (mark < brace ? style_.name_end.size() : 0);
    has_name_ = true;
    return State::kDone;
  }

  bool begin(CallSink& sink) {
    std::string_view name = name_;
    std::string id;
    if (!style_.id_mark.empty())
      if (const auto at = name.find(style_.id_mark); at != std::string_view::npos) {
        id = trimmed(name.substr(at + style_.id_mark.size()));
        name = trimmed(name.substr(0, at));
      }
    if (style_.name_is_id) {
      id = name;
      name = name.substr(0, name.rfind(':'));
    }
    if (name.starts_with(style_.prefix)) name.remove_prefix(style_.prefix.size());
    return sink.begin(name, std::move(id));
  }

  const NamedStyle& style_;
  bool has_name_ = false, begun_ = false;
  std::string name_;
  JsonScanner scanner_;
};

}  // namespace

std::unique_ptr<CallBody> make_named_body(const NamedStyle& style) {
  return std::make_unique<NamedBody>(style);
}

}  // namespace foretoken
