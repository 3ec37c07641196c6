// How bytes become requests: pieces, limits, and what no honest client sends.
#include "server/http/request_reader.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

constexpr RequestLimits kLimits{.head_bytes = 4096, .body_bytes = 100'000};

// Feeds a reader as a connection does, and counts what it takes and holds.
struct Feeder {
  explicit Feeder(RequestLimits limits = kLimits) : reader(limits) {}

  // False once the request was refused or is complete.
  bool feed(std::string_view piece) {
    input += piece;
    fed += piece.size();
    if (!reader.has_head()) refusal = reader.read_head(input);
    if (!refusal && reader.has_head()) refusal = reader.read_body(input);
    held = std::max(held, input.size());
    return !refusal && !reader.is_done();
  }
  int status() const { return refusal ? refusal->status : 0; }

  RequestReader reader;
  std::string input;
  std::size_t fed = 0, held = 0;
  std::optional<Refusal> refusal;
};

constexpr std::string_view kChunkedHead = "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(RequestReaderTest, a_request_may_come_in_pieces_of_any_size) {
  const std::string text =
      "POST /a%20b?c=d HTTP/1.1\r\nX-Name: v\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\nGET ";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    Feeder feeder;
    for (std::size_t at = 0; at < text.size(); at += size)
      if (!feeder.feed(std::string_view(text).substr(at, size))) break;
    ASSERT_TRUE(feeder.reader.is_done()) << size;
    const HttpRequest request = feeder.reader.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/a b");
    EXPECT_EQ(request.query, "c=d");
    EXPECT_EQ(request.header("x-name"), "v");
    EXPECT_EQ(request.body, "hello!");
  }
}

TEST(RequestReaderTest, the_version_is_that_of_the_head) {
  for (const bool is_old : {true, false}) {
    Feeder feeder;
    feeder.feed(std::string("POST /x HTTP/1.") + (is_old ? "0" : "1") +
                "\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(feeder.reader.is_http11(), !is_old);
    EXPECT_EQ(feeder.reader.expects_continue(), !is_old);
  }
}

TEST(RequestReaderTest, the_head_is_known_before_the_body) {
  Feeder feeder;
  EXPECT_TRUE(feeder.feed("POST /x HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_TRUE(feeder.reader.has_head());
  EXPECT_TRUE(feeder.reader.has_body());
  EXPECT_TRUE(feeder.reader.expects_continue());
  EXPECT_EQ(feeder.reader.announced_body(), 5U);
  EXPECT_EQ(feeder.reader.request().path, "/x");
  EXPECT_FALSE(feeder.feed("abcdeGET"));
  EXPECT_EQ(feeder.reader.take().body, "abcde");
  EXPECT_EQ(feeder.input, "GET");
}

TEST(RequestReaderTest, a_head_counts_as_a_whole_however_it_comes) {
  // The library takes lines as they come and limits only what it has not taken yet.
  for (const std::size_t lines : {1U, 20U, 400U}) {
    Feeder feeder;
    bool more = feeder.feed("GET / HTTP/1.1\r\n");
    std::string line = "X: " + std::string(8000 / lines, 'x') + "\r\n";
    for (int i = 0; more && i < 1000; ++i) more = feeder.feed(line);
    EXPECT_EQ(feeder.status(), 431) << lines;
    EXPECT_LE(feeder.fed, kLimits.head_bytes + line.size()) << lines;
  }
}

TEST(RequestReaderTest, what_was_taken_of_a_head_still_counts) {
  const std::string line = "X: " + std::string(95, 'x') + "\r\n";
  Feeder feeder;
  std::string first = "GET / HTTP/1.1\r\n";
  while (first.size() < kLimits.head_bytes - line.size()) first += line;
  bool more = feeder.feed(first);  // whole lines, which the library takes at once
  EXPECT_TRUE(more);
  EXPECT_LE(feeder.input.size(), line.size());
  while (more && feeder.fed < 3 * kLimits.head_bytes) more = feeder.feed(line);
  EXPECT_EQ(feeder.status(), 431);
  EXPECT_LE(feeder.fed, kLimits.head_bytes + line.size());
}

TEST(RequestReaderTest, the_fields_of_a_head_are_counted) {
  for (const int fields : {256, 257}) {
    Feeder feeder;
    std::string text = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < fields; ++i) text += "X: y\r\n";
    feeder.feed(text + "\r\n");
    EXPECT_EQ(feeder.status(), fields == 256 ? 0 : 431);
  }
}

TEST(RequestReaderTest, chunk_extensions_are_bounded) {
  Feeder feeder;
  feeder.feed(kChunkedHead);
  bool more = feeder.feed("1;x=");
  for (int i = 0; more && i < 10'000; ++i) more = feeder.feed(std::string(1000, 'y'));
  EXPECT_EQ(feeder.status(), 431);
  EXPECT_LE(feeder.held, kLimits.head_bytes + 1000);
}

TEST(RequestReaderTest, the_extensions_of_many_chunks_are_bounded_together) {
  Feeder feeder;
  feeder.feed(kChunkedHead);
  bool more = true;
  for (int i = 0; more && i < 10'000; ++i)
    more = feeder.feed("1;x=" + std::string(1000, 'y') + "\r\nz\r\n");
  EXPECT_EQ(feeder.status(), 431);
  EXPECT_LE(feeder.fed, 2 * kLimits.head_bytes);
}

TEST(RequestReaderTest, trailers_are_bounded_and_change_nothing) {
  Feeder feeder;
  feeder.feed(kChunkedHead);
  bool more = feeder.feed("0\r\n");
  for (int i = 0; more && i < 10'000; ++i)
    more = feeder.feed("X: " + std::string(100, 'x') + "\r\n");
  EXPECT_EQ(feeder.status(), 431);
  EXPECT_LE(feeder.held, kLimits.head_bytes + 1000);

  Feeder honest;
  honest.feed(kChunkedHead);
  EXPECT_FALSE(honest.feed("1\r\na\r\n0\r\nAuthorization: Bearer late\r\n\r\n"));
  ASSERT_TRUE(honest.reader.is_done());
  EXPECT_EQ(honest.reader.take().header("authorization"), "");
}

TEST(RequestReaderTest, chunks_of_one_byte_are_honest) {
  Feeder feeder;
  feeder.feed(kChunkedHead);
  for (int i = 0; i < 50'000; ++i) ASSERT_TRUE(feeder.feed("1\r\na\r\n")) << i;
  EXPECT_FALSE(feeder.feed("0\r\n\r\n"));
  EXPECT_EQ(feeder.status(), 0);
  EXPECT_EQ(feeder.reader.take().body.size(), 50'000U);
}

TEST(RequestReaderTest, a_body_over_the_limit_is_refused_before_it_comes) {
  Feeder announced;
  EXPECT_FALSE(announced.feed("POST /v1/x HTTP/1.1\r\nContent-Length: 100001\r\n\r\n"));
  EXPECT_EQ(announced.status(), 413);
  EXPECT_EQ(announced.reader.path_so_far(), "/v1/x");
  Feeder chunked;
  chunked.feed(kChunkedHead);
  EXPECT_FALSE(chunked.feed("186A1\r\n"));
  EXPECT_EQ(chunked.status(), 413);
}

TEST(RequestReaderTest, what_could_be_read_in_two_ways_is_refused) {
  for (const std::string_view text :
       {"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 18446744073709551617\r\n\r\n",
        "GET / HTTP/1.1\r\nX : y\r\n\r\n"}) {
    Feeder feeder;
    EXPECT_FALSE(feeder.feed(text)) << text;
    EXPECT_EQ(feeder.status(), 400) << text;
  }
}

TEST(RequestReaderTest, codings_and_expectations_that_are_unknown_are_refused) {
  Feeder coding;
  coding.feed("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
  EXPECT_EQ(coding.status(), 501);
  Feeder expectation;
  expectation.feed("POST / HTTP/1.1\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(expectation.status(), 417);
}

}  // namespace
}  // namespace foretoken
