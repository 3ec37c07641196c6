#include "checkpoint/hub/patience.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr int kMostTries = 8;
constexpr double kLongestWait = 600;

}  // namespace

Patience::Patience(double first_wait_seconds, OnWait on_wait)
    : first_wait_(first_wait_seconds), on_wait_(std::move(on_wait)) {}

void Patience::wait(const std::string& what, const std::string& why,
                    std::optional<double> retry_after) {
  if (++tries_ >= kMostTries)
    throw Error({fmt::format("{} failed {} times", what, tries_), why, {}, {}});
  const double seconds = retry_after.value_or(std::ldexp(first_wait_, tries_ - 1));
  if (on_wait_) on_wait_(why, seconds);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

bool is_passing(int status) {
  constexpr std::array kPassing{408, 429, 500, 502, 503, 504};
  return std::ranges::count(kPassing, status) > 0;
}

std::optional<double> retry_after(const HubReply& reply, std::int64_t now) {
  if (const auto seconds = reply.length_header("retry-after"))
    return std::min(kLongestWait, static_cast<double>(*seconds));
  const std::time_t date = curl_getdate(reply.header("retry-after").c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::clamp(static_cast<double>(date - now), 0.0, kLongestWait);
}

HubReply ask_patiently(const std::string& what, Patience& patience,
                       const std::function<HubReply()>& ask) {
  for (;;) {
    try {
      HubReply reply = ask();
      if (!is_passing(reply.status)) return reply;
      patience.wait(what, fmt::format("status {}", reply.status),
                    retry_after(reply, std::time(nullptr)));
    } catch (const HubFault& fault) {
      if (!fault.was_connected) throw Error({what + " failed", fault.what(), {}, {}});
      patience.wait(what, fault.what());
    }
  }
}

}  // namespace foretoken
