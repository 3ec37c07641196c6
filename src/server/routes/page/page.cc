#include "server/routes/page/page.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "server/routes/page/web_files.h"

namespace foretoken {
namespace {

constexpr std::string_view kIndex = "index.html";

// What the page may load and where it may send to: itself. No script or style stands in its text,
// no other page may show it in a frame.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view media_type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{
      {{".html", "text/html; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".svg", "image/svg+xml"}}};
  for (const auto& [ending, type] : kTypes)
    if (name.ends_with(ending)) return type;
  CHECK(false) << "a file of the page without a media type: " << name;
  return {};
}

HttpReply reply_with(const WebFile& file, const HttpRequest& request) {
  const std::string tag = fmt::format("\"{}\"", file.hash);
  HttpReply reply{.content_type = std::string(media_type_of(file.name))};
  // A browser asks each time whether what it has is still right: another program may have another
  // page.
  reply.headers = {{"etag", tag},
                   {"cache-control", "no-cache"},
                   {"content-security-policy", std::string(kPolicy)},
                   {"x-content-type-options", "nosniff"},
                   {"referrer-policy", "no-referrer"},
                   {"cross-origin-opener-policy", "same-origin"}};
  const auto known = request.header("if-none-match");
  if (known == "*" || known.find(tag) != std::string_view::npos)
    reply.status = 304;
  else
    reply.body = file.content;
  return reply;
}

std::string path_of(const WebFile& file) {
  return file.name == kIndex ? "/" : fmt::format("/web/{}", file.name);
}

}  // namespace

HttpService with_page(HttpService service) {
  service.admit =
      [admit = std::move(service.admit)](const HttpRequest& head) -> std::optional<HttpReply> {
    if (head.method == "GET" || head.method == "HEAD")
      for (const WebFile& file : web_files())
        if (head.path == path_of(file)) return reply_with(file, head);
    return admit(head);
  };
  return service;
}

void add_page_routes(Router& router) {
  for (const WebFile& file : web_files()) {
    Route route{.methods = {"GET"}, .path = path_of(file), .handler = {}};
    route.is_light = route.is_open = true;
    route.handler = [&file](const std::shared_ptr<Exchange>& exchange) {
      exchange->reply(reply_with(file, exchange->request()));
    };
    router.add(std::move(route));
  }
}

}  // namespace foretoken
