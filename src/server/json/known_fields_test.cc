#include "server/json/known_fields.h"

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace foretoken {
namespace {

namespace json = boost::json;

// What is said about a body; empty: nothing.
std::string refusal_of(const std::string& body, BodyKind kind, UnknownFields& unknown) {
  const json::value value = json::parse(body);
  std::optional<Refusal> fault;
  Fields fields(value.as_object(), "body", fault);
  check_known_fields(fields, kind, unknown);
  return fault ? fault->message : "";
}

std::string refusal_of(const std::string& body, BodyKind kind) {
  UnknownFields unknown;
  return refusal_of(body, kind, unknown);
}

constexpr BodyKind kAll[] = {BodyKind::kChat, BodyKind::kCompletion, BodyKind::kGenerate};

TEST(KnownFields, what_would_change_the_answer_is_refused_by_name) {
  for (const char* field : {R"("grammar":"root")",
                            R"("guidance":{"x":1})",
                            R"("use_beam_search":true)",
                            R"("length_penalty":0.5)",
                            R"("num_beams":4)",
                            R"("prompt_logprobs":0)",
                            R"("truncate_prompt_tokens":100)",
                            R"("chat_template":"x")",
                            R"("web_search_options":{})",
                            R"("data_parallel_rank":1)",
                            R"("routed_dp_rank":2)",
                            R"("bootstrap_room":7)",
                            R"("lora_path":"x")",
                            R"("custom_logit_processor":"x")",
                            R"("logits_processors":["x"])",
                            R"("return_pooled_hidden_states":true)",
                            R"("bad_words":["x"])",
                            R"("allowed_token_ids":[1])",
                            R"("mirostat":2)",
                            R"("typical_p":0.9)",
                            R"("dry_multiplier":0.8)",
                            R"("xtc_probability":0.5)",
                            R"("no_repeat_ngram_size":3)",
                            R"("image_data":"x")",
                            R"("prompt_embeds":"x")",
                            R"("do_sample":false)",
                            R"("detokenize":false)",
                            R"("kv_transfer_params":{"a":1})",
                            R"("watermark":true)"}) {
    const std::string name = std::string(field).substr(1, std::string(field).find('"', 1) - 1);
    for (const BodyKind kind : kAll)
      EXPECT_EQ(refusal_of(std::string("{") + field + "}", kind).find(name + " is not supported: "),
                0U)
          << field;
  }
}

TEST(KnownFields, what_asks_for_what_is_the_case_anyway_is_accepted) {
  for (
      const char* body :
      {R"({"guided_json":null,"guided_choice":null,"guided_decoding":{},"grammar":""})",
       R"({"use_beam_search":false,"length_penalty":1.0,"num_beams":1,"early_stopping":false})",
       R"({"prompt_logprobs":null,"truncate_prompt_tokens":null,"chat_template":null})",
       R"({"data_parallel_rank":0,"priority":0,"typical_p":1,"mirostat":0,"do_sample":true})",
       R"({"detokenize":true,"bad_words":[],"return_pooled_hidden_states":false,"lora_path":null})"})
    for (const BodyKind kind : kAll) EXPECT_EQ(refusal_of(body, kind), "") << body;
  EXPECT_EQ(refusal_of(R"({"verbosity":"medium"})", BodyKind::kChat), "");
  EXPECT_NE(refusal_of(R"({"verbosity":"low"})", BodyKind::kChat), "");
}

TEST(KnownFields, what_cannot_change_the_answer_is_accepted_and_known) {
  UnknownFields unknown;
  for (const BodyKind kind : kAll)
    EXPECT_EQ(refusal_of(R"({"store":true,"user":"u","metadata":{"a":"b"},"service_tier":"flex",
                             "safety_identifier":"s","prompt_cache_key":"k","request_id":"r",
                             "parallel_tool_calls":false,"prediction":{"type":"content"}})",
                         kind, unknown),
              "");
  EXPECT_EQ(unknown.size(), 0U);
}

TEST(KnownFields, fields_of_other_routes_are_refused_with_the_way_to_go) {
  EXPECT_EQ(refusal_of(R"({"temperature":0})", BodyKind::kGenerate),
            "temperature is not supported: it belongs into sampling_params");
  EXPECT_EQ(refusal_of(R"({"include_stop_str_in_output":true})", BodyKind::kGenerate),
            "include_stop_str_in_output is not supported: use no_stop_trim");
  EXPECT_EQ(refusal_of(R"({"max_new_tokens":5})", BodyKind::kChat),
            "max_new_tokens is not supported: use max_completion_tokens");
  EXPECT_EQ(refusal_of(R"({"extra_body":{"top_k":1}})", BodyKind::kCompletion),
            "extra_body is not supported: its fields belong into the body itself");
  EXPECT_EQ(refusal_of(R"({"enable_thinking":false})", BodyKind::kChat),
            "enable_thinking is not supported: use chat_template_kwargs");
}

TEST(KnownFields, unknown_fields_are_accepted_and_their_names_kept_once_and_bounded) {
  UnknownFields unknown;
  EXPECT_EQ(refusal_of(R"({"frobnicate":1})", BodyKind::kChat, unknown), "");
  EXPECT_EQ(refusal_of(R"({"frobnicate":2})", BodyKind::kGenerate, unknown), "");
  EXPECT_EQ(unknown.size(), 1U);
  EXPECT_FALSE(unknown.is_news("frobnicate"));
  for (int i = 0; i < 1000; ++i) unknown.is_news("x" + std::to_string(i));
  EXPECT_EQ(unknown.size(), UnknownFields::kMostNames);
  EXPECT_FALSE(unknown.is_news("one more"));
  EXPECT_EQ(UnknownFields::shown_name("a\n[INFO] \x1b[2J\xC2\x9B"), "a?[INFO] ?[2J??");
  EXPECT_EQ(UnknownFields::shown_name(std::string(100, 'x')),
            std::string(UnknownFields::kMostBytes, 'x') + "...");
}

}  // namespace
}  // namespace foretoken
