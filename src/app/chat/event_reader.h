#pragma once
// EventReader: a stream of server-sent events, cut anywhere, as the data of each event. Fields other
// than `data` and comments are skipped. Not HTTP, and not what the data means (answer_delta.h). One
// thread at a time.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace foretoken {

class EventReader {
 public:
  using OnEvent = std::function<void(std::string_view data)>;

  // most_bytes: of one event.
  explicit EventReader(OnEvent on_event, std::size_t most_bytes = std::size_t{16} << 20)
      : on_event_(std::move(on_event)), most_(most_bytes) {}

  // False: an event is longer than that; nothing more may be pushed.
  bool push(std::string_view bytes);

 private:
  void take_line(std::string_view line);

  OnEvent on_event_;
  std::size_t most_;
  std::string line_;  // so far
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // a line feed that comes next belongs to the carriage return
};

}  // namespace foretoken
