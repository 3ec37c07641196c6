#include "server/http/error_reply.h"

#include "server/json/json_writer.h"

namespace foretoken {
namespace {

std::string_view error_type(int status) {
  switch (status) {
    case 401:
      return "AuthenticationError";
    case 403:
      return "PermissionDeniedError";
    case 404:
      return "NotFoundError";
    case 429:
      return "RateLimitError";
    case 503:
      return "ServiceUnavailableError";
    default:
      return status >= 400 && status < 500 ? "BadRequestError" : "InternalServerError";
  }
}

std::string_view anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 400 && status < 500 ? "invalid_request_error" : "api_error";
  }
}

std::string_view responses_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 400 && status < 500 ? "invalid_request_error" : "server_error";
  }
}

// "tools.0" of "body.tools.0: Input should ..."; empty: the message names no field.
std::string_view field_of(std::string_view message) {
  constexpr std::string_view kBody = "body.";
  const auto end = message.find(": ");
  if (!message.starts_with(kBody) || end == std::string_view::npos) return {};
  const auto field = message.substr(kBody.size(), end - kBody.size());
  return field.find(' ') == std::string_view::npos ? field : std::string_view();
}

void write_of_responses(JsonWriter& json, const Refusal& refusal) {
  json.key("error").begin_object().field("message", refusal.message);
  json.field("type", responses_type(refusal.status));
  if (const auto field = field_of(refusal.message); !field.empty())
    json.field("param", field);
  else
    json.field_null("param");
  json.field_null("code").end_object();
}

}  // namespace

ErrorStyle error_style_of(std::string_view path) {
  if (path == "/v1/messages" || path.starts_with("/v1/messages/")) return ErrorStyle::kAnthropic;
  if (path == "/v1/responses" || path.starts_with("/v1/responses/")) return ErrorStyle::kResponses;
  return path == "/v1" || path.starts_with("/v1/") ? ErrorStyle::kOpenAi : ErrorStyle::kNative;
}

std::string error_json(ErrorStyle style, const Refusal& refusal) {
  JsonWriter json;
  json.begin_object();
  if (style == ErrorStyle::kNative) {
    json.key("error").begin_object().field("message", refusal.message).end_object();
  } else if (style == ErrorStyle::kAnthropic) {
    json.field("type", "error").key("error").begin_object();
    json.field("type", anthropic_type(refusal.status)).field("message", refusal.message);
    json.end_object();
  } else if (style == ErrorStyle::kResponses) {
    write_of_responses(json, refusal);
  } else {
    json.field("object", "error").field("message", refusal.message);
    json.field("type", error_type(refusal.status)).field_null("param");
    json.field("code", refusal.status);
  }
  json.end_object();
  return json.take();
}

HttpReply error_reply(ErrorStyle style, const Refusal& refusal) {
  return {.status = refusal.status, .body = error_json(style, refusal)};
}

}  // namespace foretoken
