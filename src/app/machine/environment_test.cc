#include "app/machine/environment.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(Environment, the_hub_cache_is_found_in_the_order_of_hugging_face) {
  EXPECT_EQ(read_environment({"HOME=/h"}).hub.cache, "/h/.cache/huggingface/hub");
  EXPECT_EQ(read_environment({"HOME=/h", "XDG_CACHE_HOME=/x"}).hub.cache, "/x/huggingface/hub");
  EXPECT_EQ(read_environment({"XDG_CACHE_HOME=/x", "HF_HOME=/f"}).hub.cache, "/f/hub");
  EXPECT_EQ(read_environment({"HF_HOME=/f", "HF_HUB_CACHE=/c"}).hub.cache, "/c");
  EXPECT_EQ(read_environment({"HF_HOME=/f", "HUGGINGFACE_HUB_CACHE=/o"}).hub.cache, "/o");
  EXPECT_EQ(read_environment({"HUGGINGFACE_HUB_CACHE=/o", "HF_HUB_CACHE=/c"}).hub.cache, "/c");
}

TEST(Environment, a_user_without_the_variable_has_the_home_that_the_system_knows) {
  const passwd* const user = getpwuid(getuid());
  if (user == nullptr) GTEST_SKIP() << "the system does not know this user";
  const std::string home = user->pw_dir;
  EXPECT_EQ(read_environment({}).hub.cache, home + "/.cache/huggingface/hub");
  EXPECT_EQ(read_environment({}).cache, home + "/.cache/foretoken");
  EXPECT_EQ(read_environment({"HF_HOME=~/f"}).hub.cache, home + "/f/hub");
  EXPECT_EQ(read_environment({"HF_HOME=~" + std::string(user->pw_name)}).hub.cache, home + "/hub");
}

TEST(Environment, paths_of_the_hub_are_expanded_as_its_own_library_does) {
  const auto of = [](const std::string& variable) {
    return read_environment({"HOME=/h", "A=/a", "B=$A", variable}).hub.cache;
  };
  EXPECT_EQ(of("HF_HOME=~/f"), "/h/f/hub");
  EXPECT_EQ(of("HF_HOME=~"), "/h/hub");
  EXPECT_EQ(of("HF_HOME=$A/x"), "/a/x/hub");
  EXPECT_EQ(of("XDG_CACHE_HOME=${A}"), "/a/huggingface/hub");
  EXPECT_EQ(of("HF_HUB_CACHE=${A}b$A"), "/ab/a");
  EXPECT_EQ(of("HUGGINGFACE_HUB_CACHE=~/c"), "/h/c");
  EXPECT_EQ(of("HF_HUB_CACHE=$B/c"), "$A/c");  // once
  for (const char* path : {"/x/~", "/$NOBODY", "/${NOBODY}/c", "/${A", "/$", "~no.such.user/c"})
    EXPECT_EQ(of("HF_HUB_CACHE=" + std::string(path)), path);
}

TEST(Environment, the_hub_is_read_as_its_own_library_reads_it) {
  const auto plain = read_environment({"HOME=/h"}).hub;
  EXPECT_EQ(plain.endpoint, "https://huggingface.co");
  EXPECT_EQ(plain.token + plain.authorities, "");
  EXPECT_FALSE(plain.offline);
  EXPECT_EQ(plain.stall_seconds, 10);
  const auto set = read_environment({"HF_ENDPOINT=http://mirror:80/", "HF_TOKEN= hf_x\n",
                                     "HF_HUB_OFFLINE=ON", "SSL_CERT_FILE=/a.pem",
                                     "CURL_CA_BUNDLE=/b.pem", "HF_HUB_DOWNLOAD_TIMEOUT=2.5"})
                       .hub;
  EXPECT_EQ(set.endpoint, "http://mirror:80");
  EXPECT_EQ(set.token, "hf_x");
  EXPECT_EQ(set.authorities, "/a.pem");
  EXPECT_TRUE(set.offline);
  EXPECT_EQ(set.stall_seconds, 2.5);
  EXPECT_TRUE(read_environment({"TRANSFORMERS_OFFLINE=1"}).hub.offline);
  for (const char* bad : {"HF_HUB_DOWNLOAD_TIMEOUT=-1", "HF_HUB_DOWNLOAD_TIMEOUT=x"})
    EXPECT_EQ(read_environment({bad}).hub.stall_seconds, 10);
}

TEST(Environment, the_token_may_lie_in_the_file_of_a_login) {
  const TestFolder home;
  const auto token = home.write("token", "hf_file\n");
  const auto of = [](const std::vector<std::string>& variables) {
    return read_environment(variables).hub.token;
  };
  EXPECT_EQ(of({"HF_HOME=" + home.path()}), "hf_file");
  EXPECT_EQ(of({"HF_HOME=/none", "HF_TOKEN_PATH=" + token}), "hf_file");
  EXPECT_EQ(of({"HF_HOME=" + home.path(), "HF_TOKEN=hf_x"}), "hf_x");
  EXPECT_EQ(of({"HF_HOME=" + home.path(), "HF_HUB_DISABLE_IMPLICIT_TOKEN=1"}), "");
}

TEST(Environment, test_hooks_are_read) {
  EXPECT_EQ(read_environment({}).force_preempt_every, 0);
  EXPECT_EQ(read_environment({"SGLANG_TEST_RETRACT=False"}).force_preempt_every, 0);
  EXPECT_EQ(read_environment({"SGLANG_TEST_RETRACT=true"}).force_preempt_every, 1);
  EXPECT_EQ(read_environment({"SGLANG_TEST_RETRACT=1", "SGLANG_TEST_RETRACT_INTERVAL=5"})
                .force_preempt_every,
            5);
  EXPECT_TRUE(read_environment({"SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY=1"}).check_integrity);
  EXPECT_TRUE(
      read_environment({"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"}).allow_longer_context);
}

TEST(Environment, limits_of_requests_are_read) {
  const auto environment =
      read_environment({"SGLANG_REQ_WAITING_TIMEOUT=1.5", "SGLANG_REQ_RUNNING_TIMEOUT=20",
                        "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION=64"});
  EXPECT_EQ(environment.req_waiting_timeout, "1.5");
  EXPECT_EQ(environment.req_running_timeout, "20");
  EXPECT_EQ(environment.clip_max_new_tokens, "64");
  EXPECT_TRUE(environment.notes.empty());
}

TEST(Environment, simulated_acceptance_is_read) {
  const auto environment =
      read_environment({"SGLANG_SIMULATE_ACC_LEN=3.5", "SGLANG_SIMULATE_ACC_METHOD=multinomial",
                        "SGLANG_SIMULATE_ACC_TOKEN_MODE=fixed"});
  EXPECT_EQ(environment.simulate_acc_len, "3.5");
  EXPECT_EQ(environment.simulate_acc_method, "multinomial");
  ASSERT_EQ(environment.notes.size(), 1U);
  EXPECT_EQ(environment.notes[0],
            "environment variable SGLANG_SIMULATE_ACC_TOKEN_MODE has no effect here: simulated "
            "texts are made of the drafts themselves");
}

TEST(Environment, forced_greedy_verification_is_read_as_sglang_reads_booleans) {
  const auto of = [](const std::string& value) {
    return read_environment({"SGLANG_NGRAM_FORCE_GREEDY_VERIFY=" + value});
  };
  for (const auto* on : {"1", "true", "True", "YES", "y"})
    EXPECT_EQ(of(on).greedy_variables, std::vector<std::string>{"SGLANG_NGRAM_FORCE_GREEDY_VERIFY"})
        << on;
  for (const auto* off : {"0", "false", "no", ""})
    EXPECT_TRUE(of(off).greedy_variables.empty()) << off;
  EXPECT_TRUE(read_environment({}).greedy_variables.empty());
  EXPECT_TRUE(of("1").notes.empty());
}

TEST(Environment, the_users_cache_has_a_folder_for_this_program) {
  EXPECT_EQ(read_environment({"HOME=/home/u"}).cache, "/home/u/.cache/foretoken");
  EXPECT_EQ(read_environment({"HOME=/home/u", "XDG_CACHE_HOME=/c"}).cache, "/c/foretoken");
}

TEST(Environment, the_overlap_of_steps_is_asked_for_by_a_variable) {
  EXPECT_TRUE(read_environment({"SGLANG_ENABLE_SPEC_V2=True"}).overlaps_steps);
  EXPECT_FALSE(read_environment({"SGLANG_ENABLE_SPEC_V2=0"}).overlaps_steps);
  EXPECT_FALSE(read_environment({}).overlaps_steps);
  EXPECT_TRUE(read_environment({"SGLANG_ENABLE_SPEC_V2=1"}).notes.empty());
}

TEST(Environment, other_variables_of_sglang_give_a_note_each) {
  const auto notes = read_environment({"SGLANG_RETURN_ORIGINAL_LOGPROB=1", "SGLANG_UNKNOWN=1",
                                       "PATH=/bin", "broken"})
                         .notes;
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0],
            "environment variable SGLANG_RETURN_ORIGINAL_LOGPROB has no effect here: logprobs are "
            "those after temperature");
  EXPECT_EQ(
      notes[1],
      "environment variable SGLANG_UNKNOWN has no effect here: it is not known to this program");
}

TEST(Environment, what_a_chat_keeps_lies_in_the_state_folder) {
  EXPECT_EQ(read_environment({"XDG_STATE_HOME=/s", "HOME=/h"}).state, "/s/foretoken");
  EXPECT_EQ(read_environment({"HOME=/h"}).state, "/h/.local/state/foretoken");
  EXPECT_EQ(read_environment({}).state, "");
  EXPECT_EQ(read_environment({"FORETOKEN_API_KEY=k"}).chat_key, "k");
}

TEST(Environment, colours_can_be_unwanted) {
  EXPECT_TRUE(read_environment({"TERM=xterm", "NO_COLOR="}).wants_colour);
  EXPECT_FALSE(read_environment({"NO_COLOR=1"}).wants_colour);
  EXPECT_FALSE(read_environment({"TERM=dumb"}).wants_colour);
}

}  // namespace
}  // namespace foretoken
