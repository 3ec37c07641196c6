#include "server/testing/two_calls.h"

namespace foretoken {

const std::vector<WrittenCalls>& two_calls() {
  static const std::vector<WrittenCalls> all = {
      {"hermes",
       "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}\n</tool_call>\n"
       "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>\n"},
      {"qwen25",
       "Look:<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}</tool_call>"
       "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>"},
      {"llama3",
       "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": \"y\"}}; "
       "{\"name\": \"g\", \"parameters\": {}}\n\n"},
      {"llama3",
       "{\"name\": \"f\", \"parameters\": {\"a\": \"y\"}}; {\"name\": \"g\", \"parameters\": "
       "{}}\n"},
      {"llama4", "<|python_start|>[f(a=\"y\"), g()]<|python_end|>\n"},
      {"pythonic", "[f(a=\"y\"), g()]\n\n"},
      {"mistral",
       "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}, "
       "{\"name\": \"g\", \"arguments\": {}}]\n\n"},
      {"mistral", "[TOOL_CALLS]f[ARGS]{\"a\": \"y\"}[TOOL_CALLS]g[ARGS]{}\n"},
      {"deepseekv3",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
       "\"y\"}\n"
       "```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"deepseekv31",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": \"y\"}<｜tool▁call▁end｜>"
       "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"kimi_k2",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>"
       "{\"a\": \"y\"}<|tool_call_end|><|tool_call_begin|>functions.g:1"
       "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"},
      {"glm45",
       "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>y</arg_value>\n</tool_call>\n"
       "<tool_call>g\n</tool_call>\n"},
      {"qwen3_coder",
       "<tool_call>\n<function=f>\n<parameter=a>\ny\n</parameter>\n</function>\n</tool_call>\n"
       "<tool_call>\n<function=g>\n</function>\n</tool_call>\n"},
      {"step3",
       "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke "
       "name=\"f\"><steptml:parameter name=\"a\">y</steptml:parameter></steptml:invoke>"
       "<｜tool_call_end｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"g\">"
       "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"},
      {"minimax-m2",
       "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">y</parameter>\n</invoke>\n"
       "<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>\n"},
      {"glm47",
       "<tool_call>f<arg_key>a</arg_key><arg_value>y</arg_value></tool_call>"
       "<tool_call>g</tool_call>"},
      {"hunyuan",
       "<tool_calls>\n<tool_call>f<tool_sep>\n<arg_key>a</arg_key>\n<arg_value>y</arg_value>\n"
       "</tool_call>\n<tool_call>g<tool_sep>\n</tool_call>\n</tool_calls>\n"},
      {"hunyuan_a13b",
       "<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}, "
       "{\"name\": \"g\", \"arguments\": {}}]</tool_calls>\n"},
      {"mimo",
       "<tool_call>\n<function=f>\n<parameter=a>y</parameter>\n</function>\n</tool_call>\n"
       "<tool_call>\n<function=g>\n</function>\n</tool_call>\n"},
      {"deepseekv32",
       "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
       "string=\"true\">y</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n"
       "</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"kimi_k3",
       "<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"f\" "
       "index=\"1\"<|sep|><|open|>argument key=\"a\" type=\"string\"<|sep|>y<|close|>argument"
       "<|sep|><|close|>call<|sep|><|open|>call tool=\"g\" index=\"2\"<|sep|><|close|>call<|sep|>"
       "<|close|>tools<|sep|><|close|>message<|sep|>"},
      {"interns1",
       "<|action_start|> <|plugin|>\n{\"name\": \"f\", \"parameters\": {\"a\": \"y\"}}"
       "<|action_end|>\n<|action_start|><|plugin|>{\"name\": \"g\", \"parameters\": {}}"
       "<|action_end|>"},
      {"cohere_command4",
       "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": "
       "{\"a\": \"y\"}},\n    {\"tool_call_id\": \"1\", \"tool_name\": \"g\", "
       "\"parameters\": {}}\n]<|END_ACTION|>"},
      {"apertus2509", "<|tools_prefix|>[{\"f\": {\"a\": \"y\"}}, {\"g\": {}}]<|tools_suffix|>"},
      {"gigachat3",
       "<|function_call|>{\"name\": \"f\", \"arguments\": {\"a\": \"y\"}}<|message_sep|>\n\n"
       "function call<|role_sep|>\n{\"name\": \"g\", \"arguments\": {}}"},
      {"lfm2", "<|tool_call_start|>[f(a=\"y\"), g()]<|tool_call_end|>"},
      {"minimax-m3",
       "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke "
       "name=\"f\">]<]minimax[>[<a>y]<]minimax[>[</a>"
       "]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"g\">]<]minimax[>[</invoke>\n"
       "]<]minimax[>[</tool_call>"},
      {"gemma4", "<|tool_call>call:f{a:<|\"|>y<|\"|>}<tool_call|><|tool_call>call:g{}<tool_call|>"},
      {"gpt-oss",
       "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": \"y\"}<|call|>"
       "<|start|>assistant<|channel|>commentary to=functions.g <|constrain|>json<|message|>{}"
       "<|call|>"}};
  return all;
}

}  // namespace foretoken
