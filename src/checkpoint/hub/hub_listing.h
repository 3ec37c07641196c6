#pragma once
// What the hub says of a repository: the commit of a revision, its files, their sizes and sums. Of
// the hub's interface it needs
//
//   GET  /api/models/ID/revision/REVISION?blobs=true   the commit and its files
//   GET  /api/models/ID/tree/COMMIT?recursive=true     the files, where the first names none
//   HEAD /ID/resolve/COMMIT/FILE                       size and sum, where no list has them
//
// One thread at a time.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/hub/hub_client.h"
#include "checkpoint/hub/hub_settings.h"
#include "checkpoint/hub/patience.h"

namespace foretoken {

struct HubFile {
  std::string path;  // inside the repository
  std::optional<std::int64_t> size;
  std::string sum;  // by which the cache names it; empty: not known yet
};

struct HubRevision {
  std::string commit;
  std::vector<HubFile> files;
};

class HubListing {
 public:
  HubListing(const HubSettings& settings, Patience::OnWait on_wait);

  // Throws Error: no connection, no such repository or revision, no right to see it, an answer that
  // is none.
  HubRevision list(const std::string& id, const std::string& revision);
  // Asks for what the list has left open.
  void complete(const std::string& id, const std::string& commit, HubFile& file);

 private:
  HubReply ask(const std::string& what, const std::function<HubReply()>& request);
  std::vector<HubFile> tree(const std::string& id, const std::string& commit);

  HubSettings settings_;
  Patience::OnWait on_wait_;
  HubClient client_;
};

// Where a file's bytes are asked for.
std::string url_of(const HubSettings& settings, const std::string& id, const std::string& commit,
                   const std::string& path);

// Of an answer of 400 or more: whose fault it is and what helps. what: "owner/name", or a file.
[[noreturn]] void refuse_reply(const HubSettings& settings, const std::string& what,
                               const HubReply& reply);

}  // namespace foretoken
