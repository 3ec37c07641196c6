#include "text/text_stream.h"

namespace foretoken {

StopScan TextStream::push(Token token) {
  if (is_over_) return {};
  StopScan scan = matcher_.push(detokenizer_.push(token));
  if (!scan.stop) {
    const std::string pending = detokenizer_.pending();
    if (matcher_.would_match(pending)) {
      StopScan rest = matcher_.push(pending);
      scan.text += rest.text;
      scan.stop = rest.stop;
    }
  }
  is_over_ = scan.stop.has_value();
  return scan;
}

StopScan TextStream::finish() {
  if (is_over_) return {};
  is_over_ = true;
  StopScan scan = matcher_.push(detokenizer_.finish());
  if (!scan.stop) scan.text += matcher_.finish();
  return scan;
}

}  // namespace foretoken
