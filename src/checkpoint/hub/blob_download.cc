#include "checkpoint/hub/blob_download.h"

#include <algorithm>
#include <ctime>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/letters.h"
#include "checkpoint/hub/checksum.h"
#include "checkpoint/hub/hub_client.h"
#include "checkpoint/hub/hub_listing.h"
#include "checkpoint/hub/part_file.h"
#include "checkpoint/hub/patience.h"

namespace foretoken {
namespace {

constexpr std::int64_t kPiece = std::int64_t{16} << 20;
constexpr std::size_t kMostConnections = 8;

class BlobDownload {
 public:
  BlobDownload(const HubSettings& settings, const BlobRequest& request, PartFile& part,
               PullWatcher& watcher)
      : settings_(settings), request_(request), part_(part), watcher_(watcher) {}

  // Reads what is missing. Throws Error.
  void run() {
    fetch(part_.missing(kPiece));
    if (!ignores_ranges_) return;
    watcher_.on_bytes(-part_.bytes());
    part_.clear();
    is_whole_ = true;
    fetch({{0, request_.size}});
  }

 private:
  void fetch(const std::vector<BlobRange>& pieces) {
    pieces_.assign(pieces.begin(), pieces.end());
    std::vector<std::thread> workers;
    for (std::size_t i = 1; i < std::min(kMostConnections, pieces.size()); ++i)
      workers.emplace_back([this] { work(); });
    work();
    for (auto& worker : workers) worker.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  // Piece after piece, until there is none or one failed.
  void work() {
    try {
      HubClient client(settings_);
      while (auto piece = take()) fetch_piece(client, *piece);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  std::optional<BlobRange> take() {
    const std::lock_guard lock(mutex_);
    if (is_over() || pieces_.empty()) return std::nullopt;
    const BlobRange piece = pieces_.front();
    pieces_.pop_front();
    return piece;
  }

  // Whether this way of reading ends before its pieces do. The mutex is held.
  bool is_over() const { return failure_ || (ignores_ranges_ && !is_whole_); }

  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return is_over();
  }

  void fetch_piece(HubClient& client, BlobRange piece) {
    Patience patience(settings_.first_wait_seconds, [this](const std::string& why, double seconds) {
      const std::lock_guard lock(mutex_);
      watcher_.on_wait(fmt::format("{}: {}; again in {:.1f} s", request_.name, why, seconds));
    });
    while (piece.size() > 0 && !has_ended()) {
      const std::int64_t before = piece.begin;
      std::string why = "the connection ended early";
      std::optional<double> after;
      try {
        const HubReply reply = client.get_range(
            request_.url, piece, [&](std::int64_t offset, std::span<const char> bytes) {
              return put(piece, offset, bytes);
            });
        if (reply.status == 416) refuse_size(reply);
        if (reply.status != 200 && reply.status != 206) {
          if (!is_passing(reply.status)) refuse_reply(settings_, request_.name, reply);
          why = fmt::format("status {}", reply.status);
          after = retry_after(reply, std::time(nullptr));
        }
      } catch (const HubFault& fault) {
        why = fault.what();
      }
      if (piece.begin > before) patience.restore();
      if (piece.size() > 0 && !has_ended())
        patience.wait("downloading " + request_.name, why, after);
    }
  }

  // Bytes at an offset: false when the transfer has nothing more for this piece.
  bool put(BlobRange& piece, std::int64_t offset, std::span<const char> bytes) {
    if (offset > piece.begin) return false;
    if (offset < piece.begin) {  // a server that sends the whole file, whatever it was asked
      if (!is_whole_) {
        const std::lock_guard lock(mutex_);
        ignores_ranges_ = true;
        return false;
      }
      const auto known = std::min(bytes.size(), static_cast<std::size_t>(piece.begin - offset));
      bytes = bytes.subspan(known);
    }
    const auto count = std::min<std::int64_t>(piece.size(), std::ssize(bytes));
    part_.write(piece.begin, bytes.first(static_cast<std::size_t>(count)));
    piece.begin += count;
    const std::lock_guard lock(mutex_);
    watcher_.on_bytes(count);
    return piece.size() > 0 && !is_over();
  }

  [[noreturn]] void refuse_size(const HubReply& reply) {
    part_.clear();
    throw Error({"the file of the hub is not as long as its list says", request_.name,
                 fmt::format("{} bytes", request_.size), reply.header("content-range")});
  }

  const HubSettings& settings_;
  const BlobRequest& request_;
  PartFile& part_;
  PullWatcher& watcher_;
  std::mutex mutex_;
  std::deque<BlobRange> pieces_;
  std::exception_ptr failure_;
  bool ignores_ranges_ = false;  // the server
  bool is_whole_ = false;        // so the file is read from its begin in one go
};

}  // namespace

void download_blob(const HubSettings& settings, const BlobRequest& request,
                   const std::filesystem::path& blob, PullWatcher& watcher) {
  PartFile part(blob, request.size);
  watcher.on_bytes(part.bytes());
  const SumKind kind = kind_of_sum(request.sum);
  constexpr int kMostTries = 2;  // bytes that an earlier process has left may be wrong
  for (int tried = 1;; ++tried) {
    BlobDownload(settings, request, part, watcher).run();
    if (kind == SumKind::kNone) break;
    watcher.on_check(request.name);
    const std::string sum = sum_of_file(part.path(), kind);
    if (sum == lower_case(request.sum)) break;
    part.clear();
    if (tried == kMostTries)
      throw Error({"the bytes that the hub sent are not those of its list", request.name,
                   "sum " + request.sum, sum});
    watcher.on_wait(request.name + ": its sum is wrong; all of it is read again");
    watcher.on_bytes(-request.size);
  }
  part.finish();
}

}  // namespace foretoken
