#include "checkpoint/hub/hub_client.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/letters.h"
#include "base/system_authorities.h"

namespace foretoken {
namespace {

constexpr std::size_t kMostBody = std::size_t{64} << 20;
constexpr std::size_t kMostOfError = 4096;
constexpr std::size_t kMostHeaders = 200;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Where the bytes of a 206 lie, from "bytes 5-9/10".
std::optional<std::int64_t> begin_of(const std::string& content_range) {
  const auto digits = content_range.find_first_of("0123456789");
  if (!content_range.starts_with("bytes") || digits == std::string::npos) return std::nullopt;
  std::int64_t begin = 0;
  const char* end = content_range.data() + content_range.size();
  if (std::from_chars(content_range.data() + digits, end, begin).ec != std::errc{})
    return std::nullopt;
  return begin;
}

}  // namespace

struct HubClient::State {
  CURL* curl = nullptr;
  HubSettings settings;
  HubReply reply;
  const Sink* sink = nullptr;
  std::optional<std::int64_t> offset;  // of the next byte for the sink
  bool is_ended = false;               // by the sink
  std::exception_ptr failure;          // that the sink threw: libcurl lets none through

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self);
  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self);
  std::size_t take(std::span<const char> bytes);
};

std::size_t HubClient::State::on_header(char* data, std::size_t, std::size_t size, void* self) {
  auto& reply = static_cast<State*>(self)->reply;
  const std::string_view line = trimmed({data, size});
  if (line.starts_with("HTTP/")) reply.headers.clear();
  const auto colon = line.find(':');
  if (colon != std::string_view::npos && reply.headers.size() < kMostHeaders)
    reply.headers[lower_case(std::string(line.substr(0, colon)))] = trimmed(line.substr(colon + 1));
  return size;
}

std::size_t HubClient::State::on_body(char* data, std::size_t, std::size_t size, void* self) {
  return static_cast<State*>(self)->take({data, size});
}

std::size_t HubClient::State::take(std::span<const char> bytes) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  const bool is_right = status == 200 || status == 206;
  if (!is_right || sink == nullptr) {
    const std::size_t most = is_right ? kMostBody : kMostOfError;
    if (is_right && reply.body.size() + bytes.size() > most) return 0;
    reply.body.append(bytes.data(), std::min(bytes.size(), most - reply.body.size()));
    return bytes.size();
  }
  if (!offset) offset = status == 200 ? 0 : begin_of(reply.header("content-range"));
  if (!offset) return 0;
  try {
    is_ended = !(*sink)(*offset, bytes);
  } catch (...) {
    failure = std::current_exception();
  }
  if (is_ended || failure) return 0;
  *offset += static_cast<std::int64_t>(bytes.size());
  return bytes.size();
}

std::string HubReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string{} : found->second;
}

std::optional<std::int64_t> HubReply::length_header(const std::string& name) const {
  const std::string text = header(name);
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end.ec != std::errc{} || end.ptr != text.data() + text.size() || number < 0)
    return std::nullopt;
  return number;
}

HubClient::HubClient(const HubSettings& settings) : state_(std::make_unique<State>()) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  state_->settings = settings;
  if (state_->settings.authorities.empty()) state_->settings.authorities = system_authorities();
  state_->curl = curl_easy_init();
  if (state_->curl == nullptr) throw Error("libcurl cannot be started");
}

HubClient::~HubClient() {
  if (state_) curl_easy_cleanup(state_->curl);
}

HubClient::HubClient(HubClient&&) noexcept = default;

HubReply HubClient::get(const std::string& url) {
  curl_easy_reset(state_->curl);
  curl_easy_setopt(state_->curl, CURLOPT_FOLLOWLOCATION, 1L);
  return perform(url);
}

HubReply HubClient::head(const std::string& url) {
  constexpr int kMostRedirects = 5;
  std::string at = url;
  for (int i = 0; i < kMostRedirects; ++i) {
    curl_easy_reset(state_->curl);
    curl_easy_setopt(state_->curl, CURLOPT_NOBODY, 1L);
    HubReply reply = perform(at);
    // Another host is where the bytes are; the same one is where the repository has moved to.
    if (reply.status / 100 != 3 || !reply.header("location").starts_with('/')) return reply;
    at = state_->settings.endpoint + reply.header("location");
  }
  throw HubFault("too many redirects", true);
}

HubReply HubClient::get_range(const std::string& url, BlobRange range, const Sink& sink) {
  curl_easy_reset(state_->curl);
  curl_easy_setopt(state_->curl, CURLOPT_FOLLOWLOCATION, 1L);
  const std::string bytes = fmt::format("{}-{}", range.begin, range.end - 1);
  curl_easy_setopt(state_->curl, CURLOPT_RANGE, bytes.c_str());
  state_->sink = &sink;
  state_->offset.reset();
  struct Forget {
    State& state;
    ~Forget() { state.sink = nullptr; }
  } const forget{*state_};
  return perform(url);
}

HubReply HubClient::perform(const std::string& url) {
  State& state = *state_;
  CURL* curl = state.curl;
  state.reply = {};
  state.is_ended = false;
  char why[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "foretoken");
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  // What was asked over TLS is not sent on in the clear.
  const char* protocols = url.starts_with("https:") ? "https" : "http,https";
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(state.settings.stall_seconds * 1000));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   std::max(1L, static_cast<long>(state.settings.stall_seconds)));
  if (!state.settings.authorities.empty())
    curl_easy_setopt(curl, CURLOPT_CAINFO, state.settings.authorities.c_str());
  if (!state.settings.token.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, state.settings.token.c_str());
  }
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &State::on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, state_.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &State::on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, state_.get());

  const CURLcode code = curl_easy_perform(curl);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  if (state.failure) std::rethrow_exception(std::exchange(state.failure, nullptr));
  if (code != CURLE_OK && !state.is_ended)
    throw HubFault(why[0] != '\0' ? why : curl_easy_strerror(code),
                   code != CURLE_COULDNT_RESOLVE_HOST && code != CURLE_COULDNT_RESOLVE_PROXY &&
                       code != CURLE_COULDNT_CONNECT && code != CURLE_PEER_FAILED_VERIFICATION &&
                       code != CURLE_SSL_CACERT_BADFILE);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  state.reply.status = static_cast<int>(status);
  return std::move(state.reply);
}

std::string url_part(const std::string& text, char keep) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain || (keep != '\0' && c == keep))
      out += c;
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

}  // namespace foretoken
