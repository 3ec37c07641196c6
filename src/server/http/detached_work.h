#pragma once
// DetachedWork: answers that no client waits for: it has been answered already, and what comes of
// its request is kept elsewhere. Its exchanges are like those of a client that never leaves and
// reads at once; one thread is the strand of all of them. Not the keeping. Thread-safe.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/http/message.h"

namespace foretoken {

class DetachedWork {
 public:
  using OnReply = std::function<void(const HttpReply&)>;

  DetachedWork() = default;
  ~DetachedWork() { close(); }
  DetachedWork(const DetachedWork&) = delete;
  DetachedWork& operator=(const DetachedWork&) = delete;

  // An exchange whose reply goes to `on_reply`, on any thread. Streams go nowhere.
  std::shared_ptr<Exchange> begin(HttpRequest head, OnReply on_reply);
  // Tells those that run that their client has gone, and posts nothing any more.
  void close();

 private:
  class Line;
  class Detached;

  std::mutex mutex_;
  std::shared_ptr<Line> line_;  // from the first exchange on
  std::vector<std::weak_ptr<Detached>> running_;
};

}  // namespace foretoken
