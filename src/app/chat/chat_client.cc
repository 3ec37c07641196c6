#include "app/chat/chat_client.h"

#include <mutex>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "app/chat/answer_delta.h"
#include "app/chat/event_reader.h"
#include "base/host_names.h"
#include "base/json_text.h"
#include "base/system_authorities.h"
#include "base/usage_error.h"

namespace foretoken {
namespace {

constexpr std::size_t kMostOfReply = std::size_t{1} << 20;
constexpr long kConnectSeconds = 10, kReplySeconds = 30;
constexpr int kPollMilliseconds = 50;  // how late a stop may be seen

// Of an answer that is no 200.
std::string refusal_of(long status, const std::string& body) {
  if (status == 401 || status == 403)
    return fmt::format("the server refuses the key ({}): give it with --api-key", status);
  const std::string told = error_of_body(body);
  if (!told.empty()) return fmt::format("the server refuses this ({}): {}", status, told);
  return fmt::format("the server answers {}", status);
}

}  // namespace

std::string server_url(const std::string& given) {
  std::string url = given;
  if (url.find("://") == std::string::npos) url = "http://" + url;
  const bool is_web = url.starts_with("http://") || url.starts_with("https://");
  const auto host = url.find("://") + 3;
  if (!is_web || host >= url.size() || url[host] == '/' ||
      url.find_first_of(" \t\r\n?#") != std::string::npos)
    throw UsageError({.what = "--url",
                      .expected = "a server such as http://127.0.0.1:30000",
                      .found = "'" + given + "'"});
  const auto without = [&](std::string_view end) {
    while (url.ends_with(end)) url.resize(url.size() - end.size());
  };
  without("/");
  without("/v1");
  return url;
}

struct ChatClient::State {
  std::string url, key, authorities;
  CURL* curl = nullptr;
  CURLM* multi = nullptr;
  curl_slist* headers = nullptr;
  char fault[CURL_ERROR_SIZE] = {};

  // Of the request that runs.
  EventReader* events = nullptr;  // null: the body is kept
  std::string body;               // of a reply, or of an error
  bool is_too_long = false;

  static std::size_t on_body(char* data, std::size_t, std::size_t size, void* self);
  void prepare(const std::string& path);
  long status() const;
  // CURLE_ABORTED_BY_CALLBACK: stopped.
  CURLcode perform(const std::atomic<bool>& stop);
  std::string failure(CURLcode code) const;
};

std::size_t ChatClient::State::on_body(char* data, std::size_t, std::size_t size, void* self) {
  auto& state = *static_cast<State*>(self);
  if (state.events != nullptr && state.status() == 200) {
    state.is_too_long = !state.events->push({data, size});
    return state.is_too_long ? 0 : size;
  }
  state.is_too_long = state.body.size() + size > kMostOfReply;
  if (state.is_too_long) return 0;
  state.body.append(data, size);
  return size;
}

long ChatClient::State::status() const {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

void ChatClient::State::prepare(const std::string& path) {
  curl_easy_reset(curl);
  body.clear();
  is_too_long = false;
  fault[0] = '\0';
  const std::string whole = url + path;
  curl_easy_setopt(curl, CURLOPT_URL, whole.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, fault);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  if (is_loopback(name_of(host_of(url)))) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (!authorities.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, authorities.c_str());
}

CURLcode ChatClient::State::perform(const std::atomic<bool>& stop) {
  curl_multi_add_handle(multi, curl);
  CURLcode code = CURLE_OK;
  for (int running = 1; running > 0;) {
    if (stop || curl_multi_perform(multi, &running) != CURLM_OK) {
      code = CURLE_ABORTED_BY_CALLBACK;
      break;
    }
    if (running > 0) curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
  }
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi, &left))
    if (message->msg == CURLMSG_DONE && code == CURLE_OK) code = message->data.result;
  curl_multi_remove_handle(multi, curl);
  return code;
}

std::string ChatClient::State::failure(CURLcode code) const {
  if (is_too_long) return "the server's answer is too long";
  const std::string reason = fault[0] != '\0' ? fault : curl_easy_strerror(code);
  if (status() != 0) return "the connection to the server was lost: " + reason;
  return fmt::format("no server answers at {}: {}", url, reason);
}

ChatClient::ChatClient(std::string url, std::string key, std::string authorities)
    : state_(std::make_unique<State>()) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  state_->url = std::move(url);
  state_->key = std::move(key);
  state_->authorities = authorities.empty() ? system_authorities() : std::move(authorities);
  state_->curl = curl_easy_init();
  state_->multi = curl_multi_init();
  if (state_->curl == nullptr || state_->multi == nullptr) throw Error("libcurl cannot be started");
  const auto add = [&](const std::string& line) {
    state_->headers = curl_slist_append(state_->headers, line.c_str());
  };
  add("Content-Type: application/json");
  add("Expect:");  // no round trip before a long body
  if (!state_->key.empty()) add("Authorization: Bearer " + state_->key);
}

ChatClient::~ChatClient() {
  curl_slist_free_all(state_->headers);
  curl_easy_cleanup(state_->curl);
  curl_multi_cleanup(state_->multi);
}

const std::string& ChatClient::url() const { return state_->url; }

Result<std::string> ChatClient::model_name() {
  state_->prepare("/v1/models");
  state_->events = nullptr;
  curl_easy_setopt(state_->curl, CURLOPT_TIMEOUT, kReplySeconds);
  const CURLcode code = state_->perform(false);
  if (code != CURLE_OK) return Refusal{state_->failure(code)};
  if (state_->status() != 200) return Refusal{refusal_of(state_->status(), state_->body)};
  JsonFault fault;
  const auto value = parse_json(state_->body, fault);
  const auto* list =
      value && value->is_object() ? value->get_object().if_contains("data") : nullptr;
  if (list != nullptr && list->is_array() && !list->get_array().empty())
    if (const auto* first = list->get_array().front().if_object())
      if (const auto* id = first->if_contains("id"); id != nullptr && id->is_string())
        return std::string(id->get_string());
  return Refusal{"what answers at " + state_->url + " names no model: it is no such server"};
}

ChatClient::Outcome ChatClient::stream(const std::string& body, const OnEvent& on_event,
                                       const std::atomic<bool>& stop) {
  bool is_complete = false;
  EventReader events([&](std::string_view data) {
    is_complete = is_complete || data == "[DONE]";
    if (!is_complete) on_event(data);
  });
  state_->prepare("/v1/chat/completions");
  state_->events = &events;
  curl_easy_setopt(state_->curl, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(state_->curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  const CURLcode code = state_->perform(stop);
  state_->events = nullptr;
  if (code == CURLE_ABORTED_BY_CALLBACK) return {End::kStopped};
  if (code != CURLE_OK && !is_complete) return {End::kFailed, state_->failure(code)};
  if (state_->status() != 200) return {End::kFailed, refusal_of(state_->status(), state_->body)};
  if (!is_complete) return {End::kFailed, "the connection to the server was lost in mid-answer"};
  return {End::kComplete};
}

}  // namespace foretoken
