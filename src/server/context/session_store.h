#pragma once
// SessionStore: texts that clients continue by name (SGLang's sessions): a request of a session
// sends what is new, and its prompt is what the session holds with that behind it. In memory only,
// bounded in number and tokens. Not a cache of KV: the prefix cache finds the texts by themselves.
//   - A session is a tree of turns, by the ids of their requests; a turn that names another goes on
//     from it. A streaming session is a chain: a turn goes on from the one before.
//   - A turn that does not end by itself is as if it had not been.
//   - A session that nobody used for its timeout is closed.
// Thread-safe.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace foretoken {

// What a request says of its session: session_params.
struct SessionParams {
  std::string id;
  std::string rid;  // the turn that it goes on from; empty: none, or the last of a chain
  std::int64_t offset =
      0;                  // of that text, tokens that stay; negative: counted from its end; 0: all
  bool replaces = false;  // what went on from `rid`, or all turns, is dropped
  bool drops_output = false;  // of the turn that it goes on from
};

class SessionStore;

// A turn that is being answered. Ends as if it had not been, unless finish() is called.
class SessionTurn {
 public:
  SessionTurn(std::shared_ptr<SessionStore> store, std::string session, std::string rid)
      : store_(std::move(store)), session_(std::move(session)), rid_(std::move(rid)) {}
  ~SessionTurn();
  SessionTurn(const SessionTurn&) = delete;
  SessionTurn& operator=(const SessionTurn&) = delete;

  void finish(std::vector<Token> output);

 private:
  const std::shared_ptr<SessionStore> store_;  // an answer may outlive the server by a moment
  const std::string session_, rid_;
  bool is_finished_ = false;
};

class SessionStore : public std::enable_shared_from_this<SessionStore> {
 public:
  static constexpr std::size_t kMostSessions = 1024;
  static constexpr std::size_t kMostTurns = 4096;                   // of a session
  static constexpr std::size_t kMostTokens = std::size_t{1} << 24;  // of all sessions
  using Clock = std::chrono::steady_clock;

  // Refusal: there is one of this id, or too many.
  std::optional<Refusal> open(const std::string& id, bool is_streaming,
                              std::optional<Clock::duration> timeout,
                              Clock::time_point now = Clock::now());
  void close(const std::string& id);

  struct Begun {
    std::vector<Token> prompt;
    std::vector<std::string> replaced;  // turns that are dropped while they are answered
    std::shared_ptr<SessionTurn> turn;
  };
  // Begins the turn `rid` with `own` tokens. bos: left out of them where they follow others.
  Result<Begun> begin(const SessionParams& params, const std::string& rid, std::vector<Token> own,
                      std::optional<Token> bos, Clock::time_point now = Clock::now());

  std::size_t size() const;

 private:
  friend class SessionTurn;
  struct Turn {
    std::vector<Token> prompt, output;
    std::string parent;
    bool is_finished = false;
    std::size_t tokens() const { return prompt.size() + output.size(); }
  };
  struct Session {
    bool is_streaming = false;
    std::optional<Clock::duration> timeout;
    Clock::time_point used;
    std::map<std::string, Turn> turns;
    std::string last;  // finished turn of a chain
  };

  void close_idle(Clock::time_point now);
  // What is dropped while it is answered is added to `running`.
  void drop(Session& session, const std::string& rid, std::vector<std::string>& running);
  void drop_all(Session& session, std::vector<std::string>& running);
  void drop_below(Session& session, const std::string& rid, std::vector<std::string>& running);
  Result<const Turn*> parent_of(Session& session, const SessionParams& params,
                                std::vector<std::string>& replaced);
  void finish(const std::string& session, const std::string& rid, std::vector<Token> output);
  void abandon(const std::string& session, const std::string& rid);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Session> sessions_;
  std::size_t tokens_ = 0;  // of all turns
};

}  // namespace foretoken
