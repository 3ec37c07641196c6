#include "server/context/session_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace foretoken {
namespace {

// What stays of a text, with the offset as Python slices.
std::size_t kept(std::size_t size, std::int64_t offset) {
  if (offset == 0) return size;
  const auto all = static_cast<std::int64_t>(size);
  return static_cast<std::size_t>(
      offset > 0 ? std::min(offset, all) : std::max<std::int64_t>(0, all + std::max(offset, -all)));
}

std::optional<Refusal> chain_fault(const SessionParams& params, bool is_answering) {
  if (is_answering) return Refusal{"Streaming session already has an active request."};
  if (params.replaces) return Refusal{"Streaming sessions do not support replace."};
  if (params.drops_output)
    return Refusal{"Streaming sessions do not support drop_previous_output."};
  if (params.offset != 0) return Refusal{"Streaming sessions do not support offset."};
  return std::nullopt;
}

}  // namespace

SessionTurn::~SessionTurn() {
  if (!is_finished_) store_->abandon(session_, rid_);
}

void SessionTurn::finish(std::vector<Token> output) {
  is_finished_ = true;
  store_->finish(session_, rid_, std::move(output));
}

std::optional<Refusal> SessionStore::open(const std::string& id, bool is_streaming,
                                          std::optional<Clock::duration> timeout,
                                          Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  close_idle(now);
  if (sessions_.size() >= kMostSessions)
    return Refusal{fmt::format("at most {} sessions can be open", kMostSessions)};
  const auto [session, is_new] = sessions_.try_emplace(id);
  if (!is_new)
    return Refusal{
        "Failed to open the session. Check if a session with the same id is still open."};
  session->second.is_streaming = is_streaming;
  session->second.timeout = timeout;
  session->second.used = now;
  return std::nullopt;
}

void SessionStore::close(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  for (const auto& [rid, turn] : session->second.turns) tokens_ -= turn.tokens();
  sessions_.erase(session);
}

void SessionStore::close_idle(Clock::time_point now) {
  std::erase_if(sessions_, [&](const auto& entry) {
    const Session& session = entry.second;
    if (!session.timeout || now - session.used <= *session.timeout) return false;
    for (const auto& [rid, turn] : session.turns) tokens_ -= turn.tokens();
    return true;
  });
}

void SessionStore::drop(Session& session, const std::string& rid,
                        std::vector<std::string>& running) {
  const auto turn = session.turns.find(rid);
  if (turn == session.turns.end()) return;
  if (!turn->second.is_finished) running.push_back(rid);
  tokens_ -= turn->second.tokens();
  session.turns.erase(turn);
}

void SessionStore::drop_all(Session& session, std::vector<std::string>& running) {
  while (!session.turns.empty()) drop(session, std::string(session.turns.begin()->first), running);
}

// All turns that went on from it.
void SessionStore::drop_below(Session& session, const std::string& rid,
                              std::vector<std::string>& running) {
  std::unordered_multimap<std::string, std::string> children;
  for (const auto& [id, turn] : session.turns) children.emplace(turn.parent, id);
  std::vector<std::string> above{rid};
  while (!above.empty()) {
    const auto [begin, end] = children.equal_range(above.back());
    above.pop_back();
    for (auto child = begin; child != end; ++child) above.push_back(child->second);
    for (auto child = begin; child != end; ++child) drop(session, child->second, running);
  }
}

// The turn that a new one goes on from; null: none.
Result<const SessionStore::Turn*> SessionStore::parent_of(Session& session,
                                                          const SessionParams& params,
                                                          std::vector<std::string>& replaced) {
  const Turn* none = nullptr;
  if (session.is_streaming) {
    const bool is_answering =
        std::ranges::any_of(session.turns, [](const auto& t) { return !t.second.is_finished; });
    if (auto fault = chain_fault(params, is_answering)) return *fault;
    return session.last.empty() ? none : &session.turns.at(session.last);
  }
  if (params.rid.empty()) {
    if (params.replaces) drop_all(session, replaced);
    return none;
  }
  const auto turn = session.turns.find(params.rid);
  if (turn == session.turns.end()) return Refusal{"Invalid request session id"};
  if (params.replaces) {
    if (!turn->second.is_finished) replaced.push_back(params.rid);
    drop_below(session, params.rid, replaced);
  } else if (!turn->second.is_finished) {
    return Refusal{"Session request is appending to a request that hasn't finished."};
  }
  return &turn->second;
}

Result<SessionStore::Begun> SessionStore::begin(const SessionParams& params, const std::string& rid,
                                                std::vector<Token> own, std::optional<Token> bos,
                                                Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  close_idle(now);
  const auto found = sessions_.find(params.id);
  if (found == sessions_.end())
    return Refusal{fmt::format("Invalid request: session id {} does not exist", params.id)};
  Session& session = found->second;
  if (session.turns.contains(rid)) return Refusal{"The session has a request of this id: " + rid};
  Begun begun;
  auto parent = parent_of(session, params, begun.replaced);
  if (!parent) return parent.refusal();
  if (const Turn* before = *parent; before != nullptr) {
    begun.prompt = before->prompt;
    if (!params.drops_output)
      begun.prompt.insert(begun.prompt.end(), before->output.begin(), before->output.end());
    begun.prompt.resize(kept(begun.prompt.size(), params.offset));
    const bool has_bos = bos && !own.empty() && own.front() == *bos;
    begun.prompt.insert(begun.prompt.end(), own.begin() + (has_bos ? 1 : 0), own.end());
  } else {
    begun.prompt = std::move(own);
  }
  if (session.turns.size() >= kMostTurns || tokens_ + begun.prompt.size() > kMostTokens)
    return Refusal{fmt::format("sessions may hold {} tokens, and {} requests each: close some",
                               kMostTokens, kMostTurns)};
  session.used = now;
  Turn turn{.prompt = begun.prompt, .output = {}, .parent = {}};
  turn.parent = session.is_streaming ? session.last : params.rid;
  tokens_ += turn.tokens();
  session.turns.emplace(rid, std::move(turn));
  begun.turn = std::make_shared<SessionTurn>(shared_from_this(), params.id, rid);
  return begun;
}

void SessionStore::finish(const std::string& id, const std::string& rid,
                          std::vector<Token> output) {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;  // it was closed meanwhile
  const auto turn = session->second.turns.find(rid);
  if (turn == session->second.turns.end()) return;  // it was replaced
  tokens_ += output.size();
  turn->second.output = std::move(output);
  turn->second.is_finished = true;
  if (!session->second.is_streaming) return;
  const auto before = session->second.turns.find(session->second.last);
  if (before != session->second.turns.end()) {
    tokens_ -= before->second.tokens();
    session->second.turns.erase(before);
  }
  session->second.last = rid;
}

void SessionStore::abandon(const std::string& id, const std::string& rid) {
  const std::lock_guard lock(mutex_);
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return;
  std::vector<std::string> running;
  drop_below(session->second, rid, running);
  drop(session->second, rid, running);
}

std::size_t SessionStore::size() const {
  const std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace foretoken
