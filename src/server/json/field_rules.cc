#include "server/json/field_rules.h"

#include <vector>

#include "server/json/json_fields.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr unsigned kChat = 1, kCompletion = 2, kGenerate = 4, kMessages = 8, kResponses = 16,
                   kInfill = 32, kEmbedding = 64;
constexpr unsigned kV1 = kChat | kCompletion, kAll = kV1 | kGenerate;
constexpr unsigned kWorded = kMessages | kResponses;  // chats in other words

struct Group {
  unsigned where;
  FieldRule rule;
  std::vector<std::string_view> names;
};

// How tokens are chosen and when to stop: of the body itself on the OpenAI routes, of its
// sampling_params on SGLang's.
std::vector<std::string_view> sampling_names() {
  return {"temperature",
          "top_p",
          "top_k",
          "min_p",
          "n",
          "stop",
          "stop_token_ids",
          "stop_regex",
          "seed",
          "frequency_penalty",
          "presence_penalty",
          "repetition_penalty",
          "logit_bias",
          "ignore_eos",
          "skip_special_tokens",
          "spaces_between_special_tokens",
          "no_stop_trim",
          "include_stop_str_in_output",
          "min_tokens",
          "max_tokens",
          "json_schema",
          "regex",
          "ebnf",
          "structural_tag",
          "structured_outputs",
          "guided_json",
          "guided_json_object",
          "guided_regex",
          "guided_choice",
          "guided_grammar",
          "guided_whitespace_pattern",
          "response_format",
          "thinking_budget",
          "thinking_token_budget",
          "custom_params"};
}

const std::vector<Group>& accepted_groups() {
  static const std::vector<Group> groups = {
      // Read by the routes.
      {kAll,
       {},
       {"rid", "stream", "extra_key", "cache_salt", "timeout_seconds", "model", "speculative",
        "priority", "session_params", "return_hidden_states"}},
      {kEmbedding,
       {},
       {"input", "model", "encoding_format", "dimensions", "pooling", "user", "rid", "extra_key",
        "cache_salt", "timeout_seconds", "priority"}},
      {kV1, {}, sampling_names()},
      {kV1, {}, {"stream_options", "best_of", "logprobs", "add_special_tokens"}},
      {kV1, {}, {"return_token_ids", "return_meta_info", "return_cached_tokens_details"}},
      {kChat | kGenerate, {}, {"return_prompt_token_ids"}},
      {kCompletion, {"use return_token_ids"}, {"return_prompt_token_ids"}},
      // llama.cpp's names.
      {kV1, {}, {"n_predict", "repeat_penalty"}},
      {kChat,
       {},
       {"messages", "input_ids", "tools", "tool_choice", "max_completion_tokens", "top_logprobs",
        "chat_template_kwargs", "add_generation_prompt", "continue_final_message",
        "reasoning_effort", "reasoning", "documents", "modalities", "separate_reasoning",
        "stream_reasoning", "parallel_tool_calls"}},
      {kCompletion, {}, {"prompt", "echo", "suffix"}},
      {kGenerate,
       {},
       {"text", "input_ids", "sampling_params", "return_logprob", "logprob_start_len",
        "top_logprobs_num", "token_ids_logprob", "return_text_in_logprobs"}},
      // For billing, storage and monitoring.
      {kAll,
       {},
       {"store",
        "user",
        "user_id",
        "metadata",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "request_id",
        "custom_labels",
        "log_metrics",
        "keep_alive",
        "cache_prompt",
        "id_slot",
        "n_cache_reuse",
        "skip_reading_prefix_cache",
        "extra_headers",
        "external_trace_header",
        "trace_id",
        "routing_key",
        "models",
        "provider",
        "route",
        "return_bytes"}},
      // About parts of answers that these routes never write: reasoning and calls taken out of the
      // text, timings, and guesses that only save time.
      {kCompletion | kGenerate,
       {},
       {"parallel_tool_calls", "separate_reasoning", "stream_reasoning"}},
      {kAll,
       {},
       {"prediction",
        "include_reasoning",
        "reasoning_format",
        "parse_tool_calls",
        "timings_per_token",
        "guided_decoding_backend",
        "mm_processor_kwargs",
        "media_io_kwargs",
        "truncation_side",
        "dry_base",
        "dry_allowed_length",
        "dry_penalty_last_n",
        "dry_sequence_breakers",
        "mirostat_tau",
        "mirostat_eta",
        "xtc_threshold",
        "dynatemp_exponent",
        "use_audio_in_video",
        "min_dynamic_patch",
        "max_dynamic_patch"}},
      {kV1, {}, {"session_id"}},
      {kWorded, {}, {shared_chat_fields().begin(), shared_chat_fields().end()}},
      {kWorded, {}, {"tools", "tool_choice", "metadata", "service_tier"}},
      // llama.cpp's, with what its editors' plugins send to save time.
      {kInfill, {}, sampling_names()},
      {kInfill,
       {},
       {"prompt",
        "input_prefix",
        "input_suffix",
        "input_extra",
        "n_predict",
        "repeat_penalty",
        "repeat_last_n",
        "stream",
        "rid",
        "extra_key",
        "cache_salt",
        "timeout_seconds",
        "model",
        "speculative",
        "cache_prompt",
        "id_slot",
        "n_keep",
        "n_indent",
        "samplers",
        "t_max_prompt_ms",
        "t_max_predict_ms",
        "timings_per_token",
        "response_fields"}},
      {kMessages,
       {},
       {"messages", "system", "max_tokens", "stop_sequences", "thinking", "inference_geo",
        "output_format", "output_config", "context_management",
        // Of tools that are skipped.
        "container"}},
      {kResponses,
       {},
       {"input",
        "instructions",
        "max_output_tokens",
        "parallel_tool_calls",
        "previous_response_id",
        "store",
        "text",
        "reasoning",
        "truncation",
        "include",
        "stop",
        "user",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "stream_options",
        "max_tool_calls",
        "thinking_token_budget",
        "thinking_budget",
        "background",
        "top_logprobs"}},
  };
  return groups;
}

// Another name, or another place, for what there is.
const std::vector<Group>& misplaced_groups() {
  static const std::vector<Group> groups = {
      {kChat,
       {"use max_completion_tokens", Idle::kNull},
       {"max_new_tokens", "num_predict", "max_length", "max_output_tokens"}},
      {kCompletion,
       {"use max_tokens", Idle::kNull},
       {"max_completion_tokens", "max_new_tokens", "num_predict", "max_length",
        "max_output_tokens"}},
      {kV1, {"use min_tokens", Idle::kZero}, {"min_new_tokens", "min_length"}},
      {kV1, {"use seed", Idle::kNull}, {"sampling_seed", "random_seed"}},
      {kV1, {"use stop"}, {"stop_sequences"}},
      {kV1, {"use n", Idle::kOne}, {"num_return_sequences"}},
      {kV1, {"use repetition_penalty", Idle::kOne}, {"penalty_repeat"}},
      {kGenerate, {"use no_stop_trim"}, {"include_stop_str_in_output"}},
      {kAll,
       {"use thinking_token_budget", Idle::kNull},
       {"max_thinking_tokens", "reasoning_budget", "thinking_budget_tokens"}},
      {kMessages, {"use thinking", Idle::kNull}, {"thinking_token_budget", "thinking_budget"}},
      {kMessages, {"use stop_sequences"}, {"stop"}},
      {kMessages,
       {"use max_tokens", Idle::kNull},
       {"max_completion_tokens", "max_output_tokens", "max_new_tokens"}},
      {kResponses,
       {"use max_output_tokens", Idle::kNull},
       {"max_tokens", "max_completion_tokens", "max_new_tokens"}},
      {kResponses, {"use input"}, {"messages", "prompt"}},
      {kResponses, {"use text"}, {"response_format"}},
      {kV1,
       {"its fields belong into the body itself"},
       {"sampling_params", "extra_body", "parameters", "options"}},
      {kChat,
       {"use messages"},
       {"prompt", "text", "inputs", "system", "instructions", "input", "input_text"}},
      {kCompletion,
       {"use prompt"},
       {"messages", "text", "input_ids", "inputs", "system", "instructions", "input"}},
      {kGenerate, {"use text or input_ids"}, {"prompt", "messages", "inputs", "prompt_token_ids"}},
      {kGenerate, {"it belongs into sampling_params"}, {"parameters", "options"}},
      {kGenerate, {"it belongs into sampling_params", Idle::kNull}, sampling_names()},
      {kGenerate,
       {"it belongs into sampling_params", Idle::kNull},
       {"sampling_seed", "min_new_tokens", "max_new_tokens"}},
      {kChat, {"use chat_template_kwargs", Idle::kNull}, {"enable_thinking", "thinking", "think"}},
      {kChat, {"use tools"}, {"functions", "function_call"}},
      {kChat, {"use continue_final_message"}, {"echo"}},
      {kCompletion, {"use echo"}, {"return_full_text"}},
      {kCompletion, {"use /v1/chat/completions"}, {"tools", "chat_template_kwargs"}},
      {kAll,
       {"use logit_bias"},
       {"bad_words", "bad_words_ids", "bad_words_token_ids", "allowed_token_ids", "suppress_tokens",
        "begin_suppress_tokens", "banned_tokens", "force_words_ids"}},
      {kV1,
       {"use /generate, whose meta_info holds such details"},
       {"return_spec_tokens_details", "return_tokens_as_token_ids", "token_ids_logprob", "details",
        "decoder_input_details", "n_probs", "post_sampling_probs", "return_tokens"}},
      {kV1,
       {"ask /v1/completions with echo and logprobs, or /generate", Idle::kNull},
       {"prompt_logprobs"}},
      {kGenerate, {"use return_logprob with logprob_start_len", Idle::kNull}, {"prompt_logprobs"}},
  };
  return groups;
}

const std::vector<Group>& missing_groups() {
  constexpr std::string_view kSampler = "this server has no such sampler";
  constexpr std::string_view kMedia = "this model reads and writes text only";
  static const std::vector<Group> groups = {
      {kAll,
       {"use response_format, json_schema, regex, ebnf or structural_tag"},
       {"guided_decoding", "grammar", "grammar_triggers", "guidance", "format"}},
      {kAll,
       {"beams are not searched: ask for n choices"},
       {"use_beam_search", "early_stopping", "diversity_penalty"}},
      {kAll,
       {"beams are not searched: ask for n choices", Idle::kOne},
       {"num_beams", "beam_width", "num_beam_groups", "length_penalty"}},
      {kGenerate, {"ask for n choices and pick", Idle::kOne}, {"best_of"}},
      {kAll,
       {"a prompt is not cut for one request: send a shorter one", Idle::kNull},
       {"truncate_prompt_tokens", "truncate"}},
      {kAll,
       {"the template is the server's: start it with --chat-template"},
       {"chat_template", "template", "raw"}},
      {kAll,
       {"this server does not search the web", Idle::kNull},
       {"web_search_options", "web_search", "plugins"}},
      {kAll,
       {"there is one engine, rank 0"},
       {"data_parallel_rank", "routed_dp_rank", "dp_rank", "data_parallel_rank_decode",
        "disagg_prefill_dp_rank"}},
      {kAll,
       {"prefill and decode run in one process"},
       {"bootstrap_host", "bootstrap_port", "bootstrap_room", "bootstrap_pair_key",
        "kv_transfer_params"}},
      {kAll,
       {"adapters are not loaded"},
       {"lora_path", "lora_id", "lora_name", "lora_request", "adapter_id", "lora"}},
      {kAll, {"use session_params"}, {"previous_response_id", "conversation"}},
      {kGenerate, {"use session_params"}, {"session_id", "context"}},
      {kAll, {"answers are not kept"}, {"background"}},
      {kResponses, {"use previous_response_id"}, {"conversation"}},
      {kWorded, {"there is one answer", Idle::kOne}, {"n"}},
      {kMessages, {"this server calls no tools itself"}, {"mcp_servers"}},
      {kMessages, {"use output_format"}, {"response_format"}},
      {kWorded,
       {"use text.format, output_format, or /v1/chat/completions"},
       {"json_schema", "regex", "ebnf", "structural_tag", "structured_outputs", "guided_json",
        "guided_json_object", "guided_regex", "guided_choice", "guided_grammar"}},
      {kAll,
       {"there are no custom logit processors"},
       {"logits_processors", "logit_processors", "logits_processor_args"}},
      {kAll,
       {"there are no custom logit processors: a budget of thinking tokens is kept without one"},
       {"custom_logit_processor"}},
      {kAll, {"use return_hidden_states"}, {"return_pooled_hidden_states"}},
      {kEmbedding, {"embeddings have a length of 1", Idle::kTrue}, {"normalize"}},
      {kEmbedding, {kMedia}, {"image_data", "input_embeds"}},
      {kAll, {"experts are not reported"}, {"return_routed_experts", "return_indexer_topk"}},
      {kAll, {"masks of tokens are not reported"}, {"return_sampling_mask"}},
      {kAll,
       {"output is bound behind the reasoning where chats have one", Idle::kNull},
       {"require_reasoning"}},
      {kAll,
       {kMedia},
       {"image_data", "video_data", "audio_data", "audio", "images", "multi_modal_data",
        "multimodal_data", "input_embeds", "prompt_embeds", "positional_embed_overrides"}},
      {kGenerate, {kMedia}, {"modalities"}},
      {kV1,
       {"use /infill, or prompt and suffix of /v1/completions"},
       {"input_prefix", "input_suffix"}},
      {kChat, {"use /v1/completions"}, {"suffix"}},
      {kAll, {"no prompt is added"}, {"safe_prompt"}},
      {kAll, {"answers are marked by nobody"}, {"watermark"}},
      {kAll, {"text is always made", Idle::kTrue}, {"detokenize"}},
      {kAll, {"use temperature 0 for no sampling", Idle::kTrue}, {"do_sample"}},
      {kChat, {"templates know no such setting", Idle::kMedium}, {"verbosity"}},
      {kAll,
       {kSampler},
       {"mirostat",
        "mirostat_mode",
        "top_a",
        "epsilon_cutoff",
        "eta_cutoff",
        "xtc_probability",
        "dry_multiplier",
        "dynatemp_range",
        "dynamic_temperature",
        "smoothing_factor",
        "no_repeat_ngram_size",
        "penalty_alpha",
        "temperature_last",
        "samplers",
        "sampler_priority",
        "adaptive_target",
        "top_n_sigma",
        "nsigma",
        "t_max_predict_ms",
        "exponential_decay_length_penalty"}},
      {kAll,
       {kSampler, Idle::kOne},
       {"typical_p", "typical", "tfs", "tfs_z", "smoothing_curve", "encoder_repetition_penalty",
        "guidance_scale"}},
  };
  return groups;
}

FieldRules rules_of(unsigned where) {
  FieldRules rules;
  for (const auto* groups : {&accepted_groups(), &misplaced_groups(), &missing_groups()})
    for (const Group& group : *groups)
      if ((group.where & where) != 0)
        for (const std::string_view name : group.names) rules.emplace(name, group.rule);
  return rules;
}

bool is_number(const json::value& value, double number) {
  return value.is_number() && value.to_number<double>() == number;
}

}  // namespace

const FieldRules& field_rules(BodyKind kind) {
  static const FieldRules chat = rules_of(kChat), completion = rules_of(kCompletion),
                          generate = rules_of(kGenerate), messages = rules_of(kMessages),
                          responses = rules_of(kResponses), infill = rules_of(kInfill),
                          embedding = rules_of(kEmbedding);
  if (kind == BodyKind::kChat) return chat;
  if (kind == BodyKind::kMessages) return messages;
  if (kind == BodyKind::kResponses) return responses;
  if (kind == BodyKind::kInfill) return infill;
  if (kind == BodyKind::kEmbedding) return embedding;
  return kind == BodyKind::kCompletion ? completion : generate;
}

bool asks_for_nothing(const json::value& value, Idle idle) {
  if (value.is_null()) return true;
  switch (idle) {
    case Idle::kNull:
      return false;
    case Idle::kEmpty:
      return is_empty_value(value);
    case Idle::kZero:
      return is_number(value, 0.0);
    case Idle::kOne:
      return is_number(value, 1.0);
    case Idle::kTrue:
      return value.is_bool() && value.get_bool();
    case Idle::kMedium:
      return value.is_string() && value.get_string() == "medium";
  }
  return false;
}

}  // namespace foretoken
