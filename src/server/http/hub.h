#pragma once
// Hub: what all connections of a server share: the configuration, the service, the limits, and who
// is connected. Included by the sources of this folder only, because the I/O library is slow to
// compile. Thread-safe where it says so.

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "server/http/body_budget.h"
#include "server/http/http_server.h"

namespace foretoken {

class Connection;

struct Hub {
  explicit Hub(HttpConfig http_config)
      : config(std::move(http_config)),
        budget(std::make_shared<BodyBudget>(config.body_budget_bytes)) {}

  const HttpConfig config;
  const std::shared_ptr<BodyBudget> budget;
  std::atomic<bool> draining{false};
  std::atomic<int> answering{0};  // exchanges begun before the drain, which waits for them

  // `open` turns false when the I/O context is about to go, after which no other thread may reach
  // into a connection.
  std::shared_mutex gate;
  bool open = true;  // guarded by gate

  std::shared_ptr<const HttpService> current_service() {
    const std::lock_guard lock(mutex);
    return service;
  }

  std::mutex mutex;
  std::shared_ptr<const HttpService> service;                   // guarded by mutex
  std::unordered_set<std::shared_ptr<Connection>> connections;  // guarded; keeps them alive
  // Those without a request (no complete head yet, or only lingering), the one that waits longest
  // first: where there are too many connections, it makes room.
  std::list<Connection*> waiting;  // guarded by mutex
};

}  // namespace foretoken
