// The page: its files and their headers, and that it can be left out.
#include "server/routes/page/page.h"

#include <string>

#include <gtest/gtest.h>

#include "server/routes/page/web_files.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class PageTest : public ServerTest {
 protected:
  static std::string value_of(const ClientReply& reply, const std::string& name) {
    const auto begin = reply.head.find("\r\n" + name + ": ");
    if (begin == std::string::npos) return "";
    const auto from = begin + name.size() + 4;
    return reply.head.substr(from, reply.head.find("\r\n", from) - from);
  }
};

TEST_F(PageTest, every_file_has_its_type_and_may_load_nothing_from_elsewhere) {
  start();
  const std::pair<const char*, const char*> files[] = {
      {"/", "text/html; charset=utf-8"},
      {"/web/app.js", "text/javascript; charset=utf-8"},
      {"/web/chat.js", "text/javascript; charset=utf-8"},
      {"/web/connection.js", "text/javascript; charset=utf-8"},
      {"/web/conversation.js", "text/javascript; charset=utf-8"},
      {"/web/conversations.js", "text/javascript; charset=utf-8"},
      {"/web/elements.js", "text/javascript; charset=utf-8"},
      {"/web/markdown.js", "text/javascript; charset=utf-8"},
      {"/web/markdown_inline.js", "text/javascript; charset=utf-8"},
      {"/web/messages.js", "text/javascript; charset=utf-8"},
      {"/web/request.js", "text/javascript; charset=utf-8"},
      {"/web/server_view.js", "text/javascript; charset=utf-8"},
      {"/web/settings.js", "text/javascript; charset=utf-8"},
      {"/web/state.js", "text/javascript; charset=utf-8"},
      {"/web/store.js", "text/javascript; charset=utf-8"},
      {"/web/trace.js", "text/javascript; charset=utf-8"},
      {"/web/transfer.js", "text/javascript; charset=utf-8"},
      {"/web/tree.js", "text/javascript; charset=utf-8"},
      {"/web/tune_report.js", "text/javascript; charset=utf-8"},
      {"/web/style.css", "text/css; charset=utf-8"},
      {"/web/icon.svg", "image/svg+xml"}};
  EXPECT_EQ(std::size(files), web_files().size());
  for (const auto& [path, type] : files) {
    const auto reply = get(port, path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_EQ(value_of(reply, "content-type"), type);
    EXPECT_EQ(value_of(reply, "cache-control"), "no-cache");
    EXPECT_EQ(value_of(reply, "x-content-type-options"), "nosniff");
    const std::string policy = value_of(reply, "content-security-policy");
    EXPECT_NE(policy.find("default-src 'none'"), std::string::npos) << policy;
    EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos) << policy;
    for (const char* lax : {"unsafe", "http", "*", "data:", "blob:"})
      EXPECT_EQ(policy.find(lax), std::string::npos) << policy;
    EXPECT_FALSE(reply.body.empty()) << path;
  }
}

TEST_F(PageTest, all_files_together_are_small) {
  std::size_t bytes = 0;
  for (const WebFile& file : web_files()) bytes += file.content.size();
  EXPECT_LT(bytes, 300'000U) << "before any compression";
}

// Which a strict policy would forbid the browser to run.
TEST_F(PageTest, no_script_and_no_style_stands_in_the_text) {
  start();
  const std::string page = get(port, "/").body;
  for (const char* lax :
       {"<style", " style=", " onclick=", " onload=", "javascript:", "http://", "https://"})
    EXPECT_EQ(page.find(lax), std::string::npos) << lax;
  std::size_t scripts = 0;
  for (auto at = page.find("<script"); at != std::string::npos; at = page.find("<script", at + 1)) {
    EXPECT_EQ(page.find("src=", at) < page.find('>', at), true);
    EXPECT_EQ(page.substr(page.find('>', at) + 1, 9), "</script>");
    ++scripts;
  }
  EXPECT_EQ(scripts, 1U);
}

TEST_F(PageTest, what_a_browser_has_is_not_sent_again) {
  start();
  for (const char* path : {"/", "/web/app.js"}) {
    HttpClient client(port);
    const std::string tag = value_of(client.request("GET", path), "etag");
    ASSERT_EQ(tag.size(), 18U) << tag;
    const auto same = client.request("GET", path, "", "If-None-Match: " + tag + "\r\n");
    EXPECT_EQ(same.status, 304);
    EXPECT_EQ(same.body, "");
    EXPECT_EQ(value_of(same, "etag"), tag);
    EXPECT_EQ(value_of(same, "content-length"), "") << "it would be that of the file";
    const auto weak = client.request("GET", path, "", "If-None-Match: \"x\", W/" + tag + "\r\n");
    EXPECT_EQ(weak.status, 304);
    EXPECT_EQ(client.request("GET", path, "", "If-None-Match: \"other\"\r\n").status, 200);
  }
}

TEST_F(PageTest, it_asks_for_no_key_and_the_routes_behind_it_do) {
  config.api_key = "secret";
  start();
  EXPECT_EQ(get(port, "/").status, 200);
  EXPECT_EQ(get(port, "/web/app.js").status, 200);
  EXPECT_EQ(get(port, "/v1/models").status, 401);
  EXPECT_EQ(get(port, "/").body.find("secret"), std::string::npos);
}

TEST_F(PageTest, it_is_read_and_nothing_else) {
  start();
  HttpClient client(port);
  EXPECT_EQ(client.request("HEAD", "/").status, 200);
  EXPECT_EQ(client.request("POST", "/", "{}").status, 405);
  EXPECT_EQ(get(port, "/web/").status, 404);
  EXPECT_EQ(get(port, "/web/other.js").status, 404);
  EXPECT_EQ(get(port, "/web/../server.cc").status, 404);
}

TEST_F(PageTest, it_is_there_while_the_model_is_loaded) {
  const HttpService service = with_page(loading_service());
  const auto status = [&](const std::string& method, const std::string& path) {
    HttpRequest head;
    head.method = method;
    head.path = path;
    return service.admit(head)->status;
  };
  EXPECT_EQ(status("GET", "/"), 200);
  EXPECT_EQ(status("GET", "/web/app.js"), 200);
  EXPECT_EQ(status("POST", "/"), 503);
  EXPECT_EQ(status("GET", "/v1/models"), 503);
}

TEST_F(PageTest, it_can_be_left_out) {
  config.serves_page = false;
  start();
  for (const char* path : {"/", "/web/app.js", "/web/style.css"})
    EXPECT_EQ(get(port, path).status, 404) << path;
  EXPECT_EQ(get(port, "/health").status, 200);
}

}  // namespace
}  // namespace foretoken
