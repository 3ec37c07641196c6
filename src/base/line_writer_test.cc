#include "base/line_writer.h"

#include <array>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace foretoken {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~Pipe() {
    close_reader();
    close(ends[1]);
  }
  void close_reader() {
    if (ends[0] >= 0) close(ends[0]);
    ends[0] = -1;
  }
  // Until not a byte more goes in.
  void fill() {
    const int flags = fcntl(ends[1], F_GETFL);
    fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
    while (::write(ends[1], "x", 1) == 1) {
    }
    fcntl(ends[1], F_SETFL, flags);
  }
  std::string read_all() {
    fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK);
    std::string out;
    std::array<char, 4096> bytes{};
    for (ssize_t n; (n = read(ends[0], bytes.data(), bytes.size())) > 0;)
      out.append(bytes.data(), static_cast<std::size_t>(n));
    return out;
  }
  std::array<int, 2> ends{-1, -1};
};

TEST(LineWriter, writes_lines) {
  Pipe pipe;
  LineWriter writer(pipe.ends[1]);
  writer.write("one\n");
  writer.write(std::string(10'000, 'a') + "\n");
  EXPECT_EQ(pipe.read_all(), "one\n" + std::string(10'000, 'a') + "\n");
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST(LineWriter, survives_a_full_disk_and_says_later_what_was_lost) {
  Pipe pipe;
  const int target = open("/dev/full", O_WRONLY);
  ASSERT_GE(target, 0);
  LineWriter writer(target);
  writer.write("lost\n");
  writer.write("lost\n");
  EXPECT_EQ(writer.dropped(), 2U);
  dup2(pipe.ends[1], target);  // there is room again
  writer.write("three\n");
  EXPECT_EQ(pipe.read_all(), "(2 lines of the log could not be written)\nthree\n");
  EXPECT_EQ(writer.dropped(), 0U);
  close(target);
}

TEST(LineWriter, survives_a_reader_that_has_left) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.close_reader();
  LineWriter writer(pipe.ends[1]);
  writer.write("lost\n");
  EXPECT_EQ(writer.dropped(), 1U);
  std::signal(SIGPIPE, before);
}

TEST(LineWriter, does_not_wait_for_a_reader_that_is_stuck) {
  Pipe pipe;
  pipe.fill();
  LineWriter writer(pipe.ends[1]);
  for (int i = 0; i < 1000; ++i) writer.write("lost\n");  // a wait for each would take minutes
  EXPECT_EQ(writer.dropped(), 1000U);
  pipe.read_all();
  writer.write("next\n");
  EXPECT_EQ(pipe.read_all(), "(1000 lines of the log could not be written)\nnext\n");
}

TEST(LineWriter, a_line_that_was_cut_ends_before_the_next_one) {
  Pipe pipe;
  LineWriter writer(pipe.ends[1]);
  writer.write(std::string(1 << 21, 'a') + "\n");  // more than a pipe holds
  EXPECT_EQ(writer.dropped(), 1U);
  pipe.read_all();
  writer.write("next\n");
  EXPECT_EQ(pipe.read_all(), "\n(1 lines of the log could not be written)\nnext\n");
}

TEST(LineWriter, a_closed_descriptor_is_no_more_than_a_lost_line) {
  LineWriter writer(-1);
  writer.write("lost\n");
  EXPECT_EQ(writer.dropped(), 1U);
}

}  // namespace
}  // namespace foretoken
