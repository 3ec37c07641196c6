#include "server/http/request_reader.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/letters.h"
#include "server/http/http_text.h"

namespace foretoken {
namespace {

namespace http = boost::beast::http;

// A chunk of one byte costs five more of framing, those of careful clients with padded lengths a
// few more. What goes beyond this per byte of the body, and beyond a head's worth, is no framing.
constexpr std::size_t kFramingPerByte = 16;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct RequestReader::Parser : http::request_parser<http::string_body> {};

RequestReader::RequestReader(RequestLimits limits)
    : limits_(limits), parser_(std::make_unique<Parser>()) {
  parser_->header_limit(static_cast<std::uint32_t>(
      std::min<std::size_t>(limits.head_bytes, std::numeric_limits<std::uint32_t>::max())));
  parser_->body_limit(limits.body_bytes);
}

RequestReader::~RequestReader() = default;

bool RequestReader::is_done() const { return parser_->is_done(); }

bool RequestReader::has_body() const { return has_head_ && announced_body() != 0U; }

std::optional<std::uint64_t> RequestReader::announced_body() const {
  if (parser_->chunked()) return std::nullopt;
  const auto length = parser_->content_length();
  return length ? *length : 0;
}

std::size_t RequestReader::body_bytes() const { return parser_->get().body().size(); }

std::string RequestReader::method_so_far() const {
  return std::string(view(parser_->get().method_string()));
}

std::string RequestReader::path_so_far() const {
  HttpRequest out;
  return parse_target(view(parser_->get().target()), out) ? out.path : std::string();
}

std::optional<Refusal> RequestReader::put(std::string& input) {
  boost::system::error_code error;
  const std::size_t used = parser_->put(boost::asio::buffer(input), error);
  input.erase(0, used);
  taken_ += used;
  if (!error || error == http::error::need_more) return std::nullopt;
  if (error == http::error::body_limit)
    return Refusal{fmt::format("the request body is larger than {} bytes", limits_.body_bytes),
                   413};
  if (error == http::error::header_limit)
    return Refusal{fmt::format("the request head is larger than {} bytes", limits_.head_bytes),
                   431};
  return Refusal{"malformed HTTP request: " + error.message(), 400};
}

std::optional<Refusal> RequestReader::read_head(std::string& input) {
  if (input.empty()) return std::nullopt;
  if (auto refusal = put(input)) return refusal;
  has_head_ = parser_->is_header_done();
  if (has_head_) return understand_head();
  // The library does not count what it has taken already.
  if (taken_ + input.size() > limits_.head_bytes)
    return Refusal{fmt::format("the request head is larger than {} bytes", limits_.head_bytes),
                   431};
  return std::nullopt;
}

std::optional<Refusal> RequestReader::understand_head() {
  const auto& message = parser_->get();
  if (static_cast<std::size_t>(std::distance(message.begin(), message.end())) >
      limits_.header_fields)
    return Refusal{fmt::format("the request head has more than {} fields", limits_.header_fields),
                   431};
  request_.method = std::string(view(message.method_string()));
  for (const auto& field : message)
    request_.headers.emplace_back(lower_case(std::string(view(field.name_string()))),
                                  std::string(field.value()));
  is_http11_ = message.version() >= 11;
  keeps_alive_ = message.keep_alive();
  if (!parse_target(view(message.target()), request_))
    return Refusal{"malformed request target", 400};
  const std::string coding = lower_case(std::string(request_.header("transfer-encoding")));
  if (!coding.empty() && coding != "chunked")
    return Refusal{"transfer codings other than chunked are not supported", 501};
  if (const std::string expected = lower_case(std::string(request_.header("expect")));
      !expected.empty()) {
    if (expected != "100-continue")
      return Refusal{"only the expectation 100-continue is supported", 417};
    expects_continue_ = is_http11_;
  }
  taken_ = 0;
  parser_->eager(true);
  return std::nullopt;
}

std::optional<Refusal> RequestReader::read_body(std::string& input) {
  if (parser_->is_done()) return std::nullopt;
  if (auto refusal = put(input)) return refusal;
  if (parser_->is_done()) return std::nullopt;
  const std::size_t body = body_bytes();
  if (taken_ + input.size() - body > limits_.head_bytes + kFramingPerByte * body)
    return Refusal{fmt::format("the chunk headers and trailers of the request body are larger than "
                               "{} bytes",
                               limits_.head_bytes),
                   431};
  return std::nullopt;
}

HttpRequest RequestReader::take() {
  request_.body = std::move(parser_->get().body());
  return std::move(request_);
}

}  // namespace foretoken
