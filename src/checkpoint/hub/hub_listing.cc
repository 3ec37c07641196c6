#include "checkpoint/hub/hub_listing.h"

#include <string_view>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/error.h"
#include "base/file_fields.h"
#include "base/json_text.h"
#include "checkpoint/hub/hub_name.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr IntRange kSizes{0, std::int64_t{1} << 50};
constexpr std::size_t kMostFiles = 100'000;

[[noreturn]] void refuse_answer(const std::string& id, const std::string& why) {
  throw Error({"the hub's answer cannot be read", id, {}, why});
}

json::value json_of(const std::string& id, const HubReply& reply) {
  JsonFault fault;
  auto value = parse_json(reply.body, fault);
  if (!value) refuse_answer(id, fault.reason);
  return std::move(*value);
}

// What names folders and files here.
std::string safe_name(const std::string& id, const FileFields& fields, std::string_view name) {
  const auto text = fields.string(name);
  if (!text || !is_safe_path(*text))
    refuse_answer(id, fmt::format("a bad \"{}\": '{}'", name, text.value_or("")));
  return *text;
}

// An entry of "siblings" (rfilename, blobId, lfs.sha256) or of a tree (path, oid, lfs.oid).
HubFile file_of(const std::string& id, const json::object& entry, std::string_view path_name,
                std::string_view sum_name, std::string_view large_sum_name) {
  const FileFields fields(entry, id);
  HubFile file{safe_name(id, fields, path_name), fields.integer("size", kSizes), {}};
  if (fields.has(sum_name)) file.sum = safe_name(id, fields, sum_name);
  if (const json::object* large = fields.object("lfs")) {
    const FileFields stored(*large, id);
    if (stored.has(large_sum_name)) file.sum = safe_name(id, stored, large_sum_name);
    if (const auto size = stored.integer("size", kSizes)) file.size = size;
  }
  return file;
}

// The address in `<...>; rel="next"`; empty: there is none.
std::string next_of(const std::string& link) {
  const auto begin = link.find('<');
  const auto end = link.find('>');
  if (begin == std::string::npos || end == std::string::npos || end < begin ||
      link.find("rel=\"next\"") == std::string::npos)
    return {};
  return link.substr(begin + 1, end - begin - 1);
}

// A sum as a header has it: W/"abc" or "abc".
std::string sum_of(std::string text) {
  if (text.starts_with("W/")) text = text.substr(2);
  std::erase(text, '"');
  return text;
}

std::string path_part(const std::string& id) { return url_part(id, '/'); }

}  // namespace

std::string url_of(const HubSettings& settings, const std::string& id, const std::string& commit,
                   const std::string& path) {
  return fmt::format("{}/{}/resolve/{}/{}", settings.endpoint, path_part(id), url_part(commit),
                     url_part(path, '/'));
}

void refuse_reply(const HubSettings& settings, const std::string& what, const HubReply& reply) {
  const std::string code = reply.header("x-error-code");
  const auto fail = [&](const std::string& expected) {
    throw Error({"the hub does not give " + what, settings.endpoint, expected,
                 fmt::format("status {}{}", reply.status, code.empty() ? "" : " (" + code + ")")});
  };
  if (code == "GatedRepo")
    fail("a user who has accepted its terms on its page, and HF_TOKEN of that user");
  if (code == "RevisionNotFound") fail("a branch, tag or commit of it");
  if (reply.status == 401 || reply.status == 403)
    fail(settings.token.empty() ? "a name that exists, or HF_TOKEN of a user who may read it"
                                : "a name that exists, and that the user of HF_TOKEN may read");
  if (reply.status == 404) fail("a name that exists");
  fail("a file");
  std::abort();  // fail() throws
}

HubListing::HubListing(const HubSettings& settings, Patience::OnWait on_wait)
    : settings_(settings), on_wait_(std::move(on_wait)), client_(settings) {}

HubReply HubListing::ask(const std::string& what, const std::function<HubReply()>& request) {
  Patience patience(settings_.first_wait_seconds, on_wait_);
  return ask_patiently(fmt::format("asking {} for {}", settings_.endpoint, what), patience,
                       request);
}

HubRevision HubListing::list(const std::string& id, const std::string& revision) {
  const std::string url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings_.endpoint,
                                      path_part(id), url_part(revision));
  const HubReply reply = ask(id, [&] { return client_.get(url); });
  if (reply.status != 200) refuse_reply(settings_, id, reply);
  const json::value answer = json_of(id, reply);
  if (!answer.is_object()) refuse_answer(id, "no object");
  const FileFields fields(answer.get_object(), id);
  HubRevision found{safe_name(id, fields, "sha"), {}};
  if (found.commit.find('/') != std::string::npos) refuse_answer(id, "a \"sha\" with '/'");
  const json::array* siblings = fields.array("siblings");
  if (siblings == nullptr) {
    found.files = tree(id, found.commit);
    return found;
  }
  for (const json::value& entry : *siblings) {
    if (!entry.is_object() || found.files.size() >= kMostFiles)
      refuse_answer(id, "bad \"siblings\"");
    found.files.push_back(file_of(id, entry.get_object(), "rfilename", "blobId", "sha256"));
  }
  return found;
}

std::vector<HubFile> HubListing::tree(const std::string& id, const std::string& commit) {
  std::vector<HubFile> files;
  std::string url = fmt::format("{}/api/models/{}/tree/{}?recursive=true", settings_.endpoint,
                                path_part(id), url_part(commit));
  while (!url.empty()) {
    const HubReply reply = ask(id, [&] { return client_.get(url); });
    if (reply.status != 200) refuse_reply(settings_, id, reply);
    const json::value answer = json_of(id, reply);
    if (!answer.is_array()) refuse_answer(id, "a tree that is no list");
    const std::size_t before = files.size();
    for (const json::value& entry : answer.get_array()) {
      if (!entry.is_object() || files.size() >= kMostFiles) refuse_answer(id, "a bad tree");
      if (FileFields(entry.get_object(), id).string("type") == "file")
        files.push_back(file_of(id, entry.get_object(), "path", "oid", "oid"));
    }
    url = next_of(reply.header("link"));
    if (url.starts_with('/')) url = settings_.endpoint + url;
    if (!url.empty() && (files.size() == before || !url.starts_with(settings_.endpoint + "/")))
      refuse_answer(id, "a tree without an end");
  }
  return files;
}

void HubListing::complete(const std::string& id, const std::string& commit, HubFile& file) {
  if (file.size && !file.sum.empty()) return;
  const std::string what = id + "/" + file.path;
  const std::string url = url_of(settings_, id, commit, file.path);
  const HubReply reply = ask(what, [&] { return client_.head(url); });
  if (reply.status >= 400) refuse_reply(settings_, what, reply);
  const bool is_linked = !reply.header("x-linked-etag").empty();
  file.sum = sum_of(reply.header(is_linked ? "x-linked-etag" : "etag"));
  file.size = reply.length_header(
      is_linked && !reply.header("x-linked-size").empty() ? "x-linked-size" : "content-length");
  if (!file.size || !is_safe_path(file.sum) || file.sum.find('/') != std::string::npos)
    refuse_answer(what, fmt::format("size '{}', ETag '{}'", reply.header("content-length"),
                                    reply.header("etag")));
}

}  // namespace foretoken
