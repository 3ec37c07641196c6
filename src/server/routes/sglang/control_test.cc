// Pauses, the version of the weights, sessions, priorities, hidden states.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/generate_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

class ControlTest : public GenerateTest {
 protected:
  json::value ok(const std::string& fields) {
    const auto reply = generate(fields);
    EXPECT_EQ(reply.status, 200) << fields << " " << reply.body;
    return json_of(reply.body);
  }
  std::string native_refusal(const std::string& path, const std::string& body) {
    const auto reply = post(port, path, body);
    EXPECT_EQ(reply.status, 400) << path << " " << body << " " << reply.body;
    return std::string(json_of(reply.body).at("error").at("message").as_string());
  }
  std::string open(const std::string& fields = R"("capacity_of_str_len":1000)") {
    const auto reply = post(port, "/open_session", "{" + fields + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::string(json_of(reply.body).as_string());
  }
  // A turn of a session: `text`, answered with `answer`, which has an end token behind it.
  json::value turn(const std::string& session, const std::string& text,
                   const std::string& more = "") {
    return ok(R"("text":")" + text + R"(","session_params":{"id":")" + session + "\"" + more + "}");
  }
  std::string last_prompt() const {
    std::string out;
    const std::vector<Request> received = engine.received();
    for (const Token token : received.back().prompt)
      out += token == kByteEos ? '|' : static_cast<char>(token);
    return out;
  }
};

TEST_F(ControlTest, a_pause_holds_what_was_begun_until_it_is_continued) {
  start();
  for (const char* body : {R"({"mode":"in_place"})", R"({"mode":"retract"})"}) {
    const auto reply = post(port, "/pause_generation", body);
    EXPECT_EQ(json_of(reply.body).at("status"), "ok");
    EXPECT_EQ(engine.paused(), std::string(body).find("retract") != std::string::npos
                                   ? Pause::kRetract
                                   : Pause::kInPlace);
    std::thread waiting([&] { EXPECT_EQ(ok(R"("text":"Hi")").at("text"), "Hello, world!"); });
    EXPECT_TRUE(eventually([&] { return engine.running() == 1; }));
    EXPECT_EQ(json_of(post(port, "/continue_generation", "{}").body).at("status"), "ok");
    waiting.join();
  }
}

TEST_F(ControlTest, a_pause_that_aborts_ends_what_runs) {
  engine.pace = std::chrono::seconds(1);
  start();
  std::thread waiting([&] {
    const auto reply = generate(R"("text":"Hi")");
    EXPECT_EQ(json_of(reply.body).at("meta_info").at("finish_reason").at("type"), "abort");
  });
  EXPECT_TRUE(eventually([&] { return engine.running() == 1; }));
  EXPECT_EQ(post(port, "/pause_generation", "").status, 200);
  waiting.join();
  EXPECT_EQ(native_refusal("/pause_generation", R"({"mode":"nap"})"),
            "body.mode: expected abort, retract or in_place");
}

TEST_F(ControlTest, the_version_of_the_weights_can_be_renamed) {
  start();
  const auto reply = json_of(
      post(port, "/update_weight_version", R"({"new_version":"v2","abort_all_requests":false})")
          .body);
  EXPECT_EQ(reply.at("success"), true);
  EXPECT_EQ(reply.at("new_version"), "v2");
  EXPECT_EQ(json_of(get(port, "/get_weight_version").body).at("weight_version"), "v2");
  EXPECT_EQ(json_of(get(port, "/model_info").body).at("weight_version"), "v2");
  EXPECT_EQ(ok(R"("text":"Hi")").at("meta_info").at("weight_version"), "v2");
  native_refusal("/update_weight_version", "{}");
  native_refusal("/update_weight_version", R"({"new_version":""})");
}

TEST_F(ControlTest, a_turn_follows_the_one_it_names) {
  start();
  const std::string session = open();
  answer_with("one");
  const auto first = turn(session, "A");
  EXPECT_EQ(last_prompt(), "A");
  const std::string rid(first.at("meta_info").at("id").as_string());
  const std::string from = R"(,"rid":")" + rid + "\"";
  answer_with("two");
  turn(session, "B", from);
  EXPECT_EQ(last_prompt(), "Aone|B");
  turn(session, "C", from);  // another branch
  EXPECT_EQ(last_prompt(), "Aone|C");
  turn(session, "D", from + R"(,"offset":-1)");
  EXPECT_EQ(last_prompt(), "AoneD");
  turn(session, "E", from + R"(,"offset":2)");
  EXPECT_EQ(last_prompt(), "AoE");
  turn(session, "F", from + R"(,"drop_previous_output":true)");
  EXPECT_EQ(last_prompt(), "AF");
  turn(session, "G");  // of no turn
  EXPECT_EQ(last_prompt(), "G");
}

TEST_F(ControlTest, openais_routes_have_sessions_too) {
  start();
  const std::string session = open(R"("capacity_of_str_len":1,"streaming":true,"session_id":"s")");
  answer_with("1");
  for (const char* prompt : {"A", "B"}) {
    const auto reply = post(
        port, "/v1/completions",
        std::string(R"({"model":"m","prompt":")") + prompt + R"(","session_params":{"id":"s"}})");
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  EXPECT_EQ(last_prompt(), "A1|B");
}

TEST_F(ControlTest, what_is_replaced_is_gone) {
  start();
  const std::string session = open();
  answer_with("1");
  const auto id_of = [](const json::value& answer) {
    return std::string(answer.at("meta_info").at("id").as_string());
  };
  const std::string first = id_of(turn(session, "A"));
  const std::string second = id_of(turn(session, "B", R"(,"rid":")" + first + "\""));
  turn(session, "C", R"(,"replace":true,"rid":")" + first + "\"");
  EXPECT_EQ(last_prompt(), "A1|C");
  const std::string gone =
      R"("text":"D","session_params":{"id":")" + session + R"(","rid":")" + second + "\"}";
  EXPECT_EQ(refusal_of(gone), "Invalid request session id");
  turn(session, "E", R"(,"replace":true)");
  const std::string all =
      R"("text":"D","session_params":{"id":")" + session + R"(","rid":")" + first + "\"}";
  EXPECT_EQ(refusal_of(all), "Invalid request session id");
}

TEST_F(ControlTest, a_streaming_session_goes_on_by_itself) {
  start();
  const std::string session = open(R"("capacity_of_str_len":1,"streaming":true,"session_id":"s")");
  EXPECT_EQ(session, "s");
  answer_with("1");
  turn(session, "A");
  turn(session, "B");
  turn(session, "C");
  EXPECT_EQ(last_prompt(), "A1|B1|C");
  EXPECT_EQ(refusal_of(R"("text":"D","session_params":{"id":"s","replace":true})"),
            "Streaming sessions do not support replace.");
}

TEST_F(ControlTest, sessions_are_opened_once_and_end) {
  start();
  open(R"("capacity_of_str_len":1,"session_id":"s")");
  EXPECT_EQ(native_refusal("/open_session", R"({"capacity_of_str_len":1,"session_id":"s"})"),
            "Failed to open the session. Check if a session with the same id is still open.");
  EXPECT_EQ(post(port, "/close_session", R"({"session_id":"s"})").status, 200);
  EXPECT_EQ(post(port, "/close_session", R"({"session_id":"s"})").status, 200);
  EXPECT_EQ(refusal_of(R"("text":"D","session_params":{"id":"s"})"),
            "Invalid request: session id s does not exist");
  native_refusal("/open_session", "{}");
  native_refusal("/open_session", R"({"capacity_of_str_len":1,"timeout":0})");
  native_refusal("/close_session", "{}");
  open(R"("capacity_of_str_len":1,"session_id":"s")");
  EXPECT_EQ(refusal_of(R"("text":"D","session_params":{"id":"s"},"sampling_params":{"n":2})"),
            "session_params: a request of a session has one choice");
}

TEST_F(ControlTest, a_turn_that_was_refused_leaves_no_trace) {
  start();
  open(R"("capacity_of_str_len":1,"session_id":"s","streaming":true)");
  refusal_of(R"("text":"D","session_params":{"id":"s"},"sampling_params":{"max_new_tokens":9999})");
  answer_with("1");
  turn("s", "A");
  EXPECT_EQ(last_prompt(), "A");
}

TEST_F(ControlTest, priorities_order_requests_where_they_are_served) {
  config.priorities.are_served = true;
  start();
  const auto rank_of = [&](const std::string& priority) {
    ok(R"("text":"Hi")" + (priority.empty() ? "" : R"(,"priority":)" + priority));
    return engine.received().back().rank;
  };
  EXPECT_LT(rank_of("5"), rank_of("4"));
  EXPECT_LT(rank_of("-9007199254740992"), rank_of(""));
  refusal_of(R"("text":"Hi","priority":1e30)");
}

TEST_F(ControlTest, the_lowest_priority_is_first_where_the_operator_says_so) {
  config.priorities = {.are_served = true, .low_first = true, .standard = 3};
  start();
  ok(R"("text":"Hi")");
  ok(R"("text":["Hi","Ho"],"priority":[4,2])");
  EXPECT_EQ(engine.received().at(0).rank, 3);
  EXPECT_EQ(engine.received().at(1).rank, 4);
  EXPECT_EQ(engine.received().at(2).rank, 2);
}

TEST_F(ControlTest, priorities_that_are_not_served_have_no_effect_or_are_refused) {
  start();
  ok(R"("text":"Hi","priority":7)");
  EXPECT_EQ(engine.received().back().rank, 0);
  stop();
  config.priorities.refuses_unserved = true;
  start();
  EXPECT_TRUE(refusal_of(R"("text":"Hi","priority":7)").starts_with("Using priority is disabled"));
}

TEST_F(ControlTest, hidden_states_are_those_of_the_prompt_and_one_for_each_token_but_the_last) {
  config.returns_hidden_states = true;
  start();
  answer_with("abc");
  const auto meta = ok(R"("text":"Hi","return_hidden_states":true)").at("meta_info");
  EXPECT_EQ(meta.at("hidden_states"), json::parse("[[[0,0],[3,4]],[6,8],[9,12],[12,16]]"));
  const auto last = ok(R"("text":"Hi","return_hidden_states":"last")").at("meta_info");
  EXPECT_EQ(last.at("hidden_states"), json::parse("[12,16]"));
  EXPECT_FALSE(ok(R"("text":"Hi")").at("meta_info").as_object().contains("hidden_states"));
  refusal_of(R"("text":"Hi","return_hidden_states":true,"sampling_params":{"max_new_tokens":0})");
  const std::string chat = R"({"messages":[{"role":"user","content":"Hi"}],)";
  const auto reply = post(port, "/v1/chat/completions", chat + R"("return_hidden_states":true})");
  EXPECT_EQ(json_of(reply.body).at("choices").at(0).at("hidden_states").as_array().size(), 2U);
}

TEST_F(ControlTest, hidden_states_are_refused_unless_the_operator_serves_them) {
  start();
  EXPECT_EQ(refusal_of(R"("text":"Hi","return_hidden_states":true)"),
            "The server is not configured to return the hidden states. Please set "
            "`--enable-return-hidden-states` to enable this feature.");
}

}  // namespace
}  // namespace foretoken
