#pragma once
// A small blocking HTTP client over plain sockets, for tests: it can also send what no library
// would send, and stop reading half-way. Waits at most ten seconds for anything.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct ClientReply {
  int status = 0;  // 0: the connection was closed without an answer
  std::string head;
  std::string body;  // chunks joined
};

class HttpClient {
 public:
  explicit HttpClient(int port, const std::string& address = "127.0.0.1");  // of either family
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(std::string_view bytes);  // may fail silently when the server has closed
  // Sends a request and reads the whole answer; the connection stays open.
  ClientReply request(std::string_view method, std::string_view path, std::string_view body = {},
                      std::string_view headers = {});
  ClientReply read_reply(bool has_body = true);
  // Reads until `mark` was received; everything so far, or what came when the time is over.
  std::string read_until(std::string_view mark);
  bool at_end();           // nothing more comes: the server has closed
  bool is_closed() const;  // the same, without waiting
  void close();            // at once, unread data or not
  void half_close();       // sends no more, still reads
  bool is_connected() const { return socket_ >= 0; }
  // Sends pieces until the server has taken none for a while; the bytes sent, `most` at most.
  std::size_t flood(std::string_view piece, std::size_t most);

 private:
  bool fill();
  int socket_ = -1;
  std::string buffer_;
};

// The payloads of "data: " lines.
std::vector<std::string> sse_events(std::string_view body);

// One request on a connection of its own.
ClientReply get(int port, std::string_view path, std::string_view headers = {});
ClientReply post(int port, std::string_view path, std::string_view body,
                 std::string_view headers = {});

}  // namespace foretoken
