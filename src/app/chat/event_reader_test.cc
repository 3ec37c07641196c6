#include "app/chat/event_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretoken {
namespace {

using Events = std::vector<std::string>;

// Pushed in pieces of `step` bytes.
Events read(std::string_view stream, std::size_t step) {
  Events events;
  EventReader reader([&](std::string_view data) { events.emplace_back(data); });
  for (std::size_t i = 0; i < stream.size(); i += step)
    EXPECT_TRUE(reader.push(stream.substr(i, step)));
  return events;
}

TEST(EventReader, ReadsEventsHoweverTheStreamIsCut) {
  const std::string stream =
      "data: {\"a\": 1}\n\n: a comment\nevent: name\nid: 7\ndata:without a space\n\n\n"
      "data: two\ndata:  lines\n\ndata\n\ndataset: no\n\ndata: [DONE]\n\n";
  const Events expected = {"{\"a\": 1}", "without a space", "two\n lines", "", "[DONE]"};
  for (std::size_t step = 1; step <= stream.size(); ++step)
    EXPECT_EQ(read(stream, step), expected) << step;
}

TEST(EventReader, TakesAnyEndOfALine) {
  for (std::size_t step = 1; step < 9; ++step) {
    EXPECT_EQ(read("data: a\r\n\r\ndata: b\r\n\r\n", step), (Events{"a", "b"})) << step;
    EXPECT_EQ(read("data: a\r\rdata: b\r\r", step), (Events{"a", "b"})) << step;
  }
}

TEST(EventReader, AnEventWithoutItsEndIsNone) {
  EXPECT_EQ(read("data: a\n\ndata: b\n", 3), Events{"a"});
  EXPECT_EQ(read("data: a", 3), Events{});
}

TEST(EventReader, WhatIsTooLongIsRefusedAndNotKept) {
  int events = 0;
  EventReader reader([&](std::string_view) { ++events; }, 100);
  EXPECT_TRUE(reader.push("data: " + std::string(80, 'x') + "\n\n"));
  EXPECT_FALSE(reader.push("data: " + std::string(200, 'x')));
  EventReader lines([&](std::string_view) { ++events; }, 100);
  bool is_taken = true;
  for (int i = 0; i < 100 && is_taken; ++i) is_taken = lines.push("data: line\n");
  EXPECT_FALSE(is_taken);
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace foretoken
