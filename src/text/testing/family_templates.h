#pragma once
// For tests of dialogues: templates that write assistant messages as those of each family do, in
// the words of the makers of its models. Data.

#include <string_view>
#include <vector>

namespace foretoken {

struct Family {
  std::string_view calls, reasoning;  // names of styles; empty: none
  std::string_view source;            // writes <A>, an assistant's message, <E>
  std::string_view told = {};  // what the template tells, where families share a form; empty: calls
};

// What messages of most families begin with.
#define THINK                                                                    \
  "{% for m in messages %}{% if m.role == 'assistant' %}<A>"                     \
  "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n" \
  "{% endif %}{{ m.content }}"
#define BEGIN "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
#define VALUE "{{ v if v is string else v | tojson }}"
#define CALLS "{% for c in m.tool_calls or [] %}{% set f = c.function %}"
#define END "{% endfor %}<E>{% else %}{{ m.content }}{% endif %}{% endfor %}"

inline const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"qwen25", "qwen3",
       THINK CALLS "\n<tool_call>\n{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | "
                   "tojson }}}\n</tool_call>" END},
      {"hermes", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}" CALLS
       "\n<tool_call>\n{\"arguments\": {{ f.arguments | tojson }}, \"name\": \"{{ f.name "
       "}}\"}\n</tool_call>" END},
      {"qwen", "qwen3-thinking",
       THINK CALLS
       "<tool_call>{\"name\": \"{{ f.name }}\", \"parameters\": {{ f.arguments | tojson "
       "| tojson }}}</tool_call>" END},
      {"llama3", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}"
       "{% if m.tool_calls %}<|python_tag|>{% endif %}" CALLS
       "{{ '; ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"parameters\": {{ f.arguments | "
       "tojson }}}" END},
      {"llama4", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}"
       "{% if m.tool_calls %}<|python_start|>[{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{{ f.name }}({% for k, v in f.arguments | items %}"
       "{{ ', ' if not loop.first }}{{ k }}={{ v | tojson }}{% endfor %})"
       "{{ ']<|python_end|>' if loop.last }}" END},
      {"mistral", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}"
       "{% if m.tool_calls %}[TOOL_CALLS] [{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | "
       "tojson }}, \"id\": \"{{ c.id }}\"}{{ ']' if loop.last }}" END},
      {"mistral", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}" CALLS
       "[TOOL_CALLS]{{ f.name }}[CALL_ID]{{ c.id }}[ARGS]{{ f.arguments | tojson }}" END},
      {"deepseekv3", "deepseek-r1",
       THINK "{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% endif %}" CALLS
             "{{ '\n' if not loop.first }}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ f.name "
             "}}\n```json\n{{ f.arguments | tojson }}\n```<｜tool▁call▁end｜>"
             "{{ '<｜tool▁calls▁end｜>' if loop.last }}" END},
      {"deepseekv31", "deepseek-v3",
       THINK "{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% endif %}" CALLS
             "<｜tool▁call▁begin｜>{{ f.name }}<｜tool▁sep｜>{{ f.arguments | tojson "
             "}}<｜tool▁call▁end｜>{{ '<｜tool▁calls▁end｜>' if loop.last }}" END},
      {"kimi_k2", "kimi_k2",
       THINK "{% if m.tool_calls %}<|tool_calls_section_begin|>{% endif %}" CALLS
             "<|tool_call_begin|>functions.{{ f.name }}:{{ loop.index0 "
             "}}<|tool_call_argument_begin|>{{ f.arguments | tojson }}<|tool_call_end|>"
             "{{ '<|tool_calls_section_end|>' if loop.last }}" END},
      {"", "kimi",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
       "{% if m.reasoning_content %}◁think▷{{ m.reasoning_content }}◁/think▷{% endif %}"
       "{{ m.content }}" CALLS END},
      {"glm45", "glm45",
       THINK CALLS "\n<tool_call>{{ f.name }}\n{% for k, v in f.arguments | items %}<arg_key>{{ k "
                   "}}</arg_key>\n<arg_value>{{ v if v is string else v | tojson "
                   "}}</arg_value>\n{% endfor %}</tool_call>" END},
      {"qwen3_coder", "",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>{{ m.content }}" CALLS
       "\n<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments | items %}<parameter={{ "
       "k }}>\n{{ v if v is string else v | tojson }}\n</parameter>\n{% endfor "
       "%}</function>\n</tool_call>" END},
      {"step3", "step3",
       THINK "{% if m.tool_calls %}<｜tool_calls_begin｜>\n{% endif %}" CALLS
             "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"{{ f.name "
             "}}\">\n{% for k, v in f.arguments | items %}<steptml:parameter name=\"{{ k }}\">{{ v "
             "if v is string else v | tojson }}</steptml:parameter>\n{% endfor "
             "%}</steptml:invoke><｜tool_call_end｜>\n"
             "{{ '<｜tool_calls_end｜>' if loop.last }}" END},
      {"minimax-m2", "minimax",
       THINK "{% if m.tool_calls %}\n<minimax:tool_call>\n{% endif %}" CALLS
             "<invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments | items %}<parameter "
             "name=\"{{ k }}\">{{ v if v is string else v | tojson }}</parameter>\n{% endfor "
             "%}</invoke>\n{{ '</minimax:tool_call>' if loop.last }}" END},
      {"gpt-oss", "gpt-oss",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
       "{% if m.reasoning_content %}<|channel|>analysis<|message|>{{ m.reasoning_content "
       "}}<|end|><|start|>assistant{% endif %}"
       "{% if m.content %}<|channel|>{{ 'commentary' if m.tool_calls else 'final' }}<|message|>{{ "
       "m.content }}{{ '<|end|><|start|>assistant' if m.tool_calls else '<|return|>' }}{% endif "
       "%}" CALLS
       "<|channel|>commentary to=functions.{{ f.name }} <|constrain|>json<|message|>{{ f.arguments "
       "| tojson }}<|call|>{{ '<|start|>assistant' if not loop.last }}" END},
      {"gpt-oss", "gpt-oss",
       "{% for m in messages %}{% if m.role == 'assistant' %}<A>"
       "{% if m.reasoning_content %}<|channel|>analysis<|message|>{{ m.reasoning_content "
       "}}<|end|>{% endif %}"
       "{% if m.content %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>"
       "{% endif %}" CALLS
       "<|start|>assistant to=functions.{{ f.name }}<|channel|>commentary json<|message|>{{ "
       "f.arguments | tojson }}" END},
  };
  return all;
}

// The forms of the families that came later.
inline const std::vector<Family>& later_families() {
  static const std::vector<Family> all = {
      {"glm47", "glm45",
       THINK CALLS
       "{% set tc = f %}{{ '<tool_call>' + tc.name }}{% for k, v in f.arguments | items "
       "%}<arg_key>{{ k }}</arg_key><arg_value>" VALUE "</arg_value>{% endfor %}</tool_call>" END},
      {"hunyuan", "hunyuan",
       THINK
       "{% if m.tool_calls %}<tool_calls>\n{% endif %}" CALLS
       "<tool_call>{{ f.name }}<tool_sep>\n{% for k, v in f.arguments | items %}<arg_key>{{ k "
       "}}</arg_key>\n<arg_value>" VALUE
       "</arg_value>\n{% endfor %}</tool_call>\n{{ '</tool_calls>' if loop.last }}" END},
      {"hunyuan_a13b", "hunyuan_a13b",
       BEGIN
       "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n{% endif %}"
       "{% if m.content %}<answer>\n{{ m.content }}\n</answer>{% endif %}"
       "{% if m.tool_calls %}<tool_calls>[{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments "
       "| tojson }}}{{ ']</tool_calls>' if loop.last }}" END},
      {"step3p5", "step3p5",
       THINK CALLS "<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments | items "
                   "%}<parameter={{ k }}>\n" VALUE
                   "\n</parameter>\n{% endfor %}</function>\n</tool_call>" END,
       "qwen3_coder"},
      {"mimo", "mimo",
       THINK CALLS "<tool_call>\n<function={{ f.name }}>\n{% for k, v in f.arguments | items "
                   "%}<parameter={{ k }}>" VALUE
                   "</parameter>\n{% endfor %}</function>\n</tool_call>\n" END,
       "qwen3_coder"},
      {"deepseekv32", "deepseek-v3",
       THINK "{% if m.tool_calls %}\n\n<｜DSML｜function_calls>\n{% endif %}" CALLS
             "<｜DSML｜invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments | items "
             "%}<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' "
             "}}\">" VALUE "</｜DSML｜parameter>\n{% endfor %}</｜DSML｜invoke>\n"
             "{{ '</｜DSML｜function_calls>' if loop.last }}" END},
      {"deepseekv4", "deepseek-v4",
       THINK "{% if m.tool_calls %}\n\n<｜DSML｜tool_calls>\n{% endif %}" CALLS
             "<｜DSML｜invoke name=\"{{ f.name }}\">\n{% for k, v in f.arguments | items "
             "%}<｜DSML｜parameter name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' "
             "}}\">" VALUE "</｜DSML｜parameter>\n{% endfor %}</｜DSML｜invoke>\n"
             "{{ '</｜DSML｜tool_calls>' if loop.last }}" END},
      {"kimi_k3", "kimi_k3",
       BEGIN
       "{% if m.reasoning_content %}<|open|>think<|sep|>{{ m.reasoning_content "
       "}}<|close|>think<|sep|>{% endif %}"
       "<|open|>response<|sep|>{{ m.content }}<|close|>response<|sep|>"
       "{% if m.tool_calls %}<|open|>tools<|sep|>{% endif %}" CALLS
       "<|open|>call tool=\"{{ f.name }}\" index=\"{{ loop.index }}\"<|sep|>"
       "{% for k, v in f.arguments | items %}<|open|>argument key=\"{{ k }}\" type=\"{{ 'string' "
       "if v is string else 'boolean' if v is boolean else 'null' if v is none else 'number' if v "
       "is number else 'object' if v is mapping else 'array' }}\"<|sep|>" VALUE
       "<|close|>argument<|sep|>{% endfor %}<|close|>call<|sep|>"
       "{{ '<|close|>tools<|sep|><|close|>message<|sep|>' if loop.last }}" END},
      {"interns1", "interns1",
       THINK CALLS "<|action_start|> <|plugin|>\n{\"name\": \"{{ f.name }}\", \"parameters\": {{ "
                   "f.arguments | tojson }}}<|action_end|>" END},
      {"cohere_command4", "cohere_command4",
       BEGIN
       "{% if m.reasoning_content %}<|START_THINKING|>{{ m.reasoning_content "
       "}}<|END_THINKING|>{% endif %}"
       "{% if m.content %}<|START_TEXT|>{{ m.content }}<|END_TEXT|>{% endif %}"
       "{% if m.tool_calls %}<|START_ACTION|>[\n{% endif %}" CALLS
       "    {\"tool_call_id\": \"{{ loop.index0 }}\", \"tool_name\": \"{{ f.name }}\", "
       "\"parameters\": {{ f.arguments | tojson }}}{{ '\n]<|END_ACTION|>' if loop.last else ',\n' "
       "}}" END},
      {"apertus2509", "apertus2509",
       BEGIN "{% if m.reasoning_content %}<|inner_prefix|>{{ m.reasoning_content "
             "}}<|inner_suffix|>{% endif %}{{ m.content }}"
             "{% if m.tool_calls %}<|tools_prefix|>[{% endif %}" CALLS
             "{{ ', ' if not loop.first }}{\"{{ f.name }}\": {{ f.arguments | tojson }}}"
             "{{ ']<|tools_suffix|>' if loop.last }}" END},
      {"gigachat3", "",
       BEGIN "{{ m.content }}" CALLS
             "<|message_sep|>\n\nfunction call<|role_sep|>\n{\"name\": \"{{ "
             "f.name }}\", \"arguments\": {{ f.arguments | tojson }}}" END},
      {"lfm2", "",
       BEGIN "{{ m.content }}{% if m.tool_calls %}<|tool_call_start|>[{% endif %}" CALLS
             "{{ ', ' if not loop.first }}{{ f.name }}({% for k, v in f.arguments | items %}"
             "{{ ', ' if not loop.first }}{{ k }}={{ v | tojson }}{% endfor %})"
             "{{ ']<|tool_call_end|>' if loop.last }}" END},
      {"lfm2", "",
       BEGIN
       "{{ m.content }}{% if m.tool_calls %}<|tool_call_start|>[{% endif %}" CALLS
       "{{ ', ' if not loop.first }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments "
       "| tojson }}}{{ ']<|tool_call_end|>' if loop.last }}" END},
      {"minimax-m3", "minimax-m3",
       "{% macro element(v) %}{% if v is mapping and v %}{% for k, w in v | items "
       "%}]<]minimax[>[<{{ k }}>{{ element(w) }}]<]minimax[>[</{{ k }}>{% endfor %}"
       "{% elif v is mapping %}{}{% elif v is sequence and v is not string %}{% for w in v "
       "%}]<]minimax[>[<item>{{ "
       "element(w) }}]<]minimax[>[</item>{% endfor %}{% else %}" VALUE
       "{% endif %}{% endmacro %}" BEGIN
       "{% if m.reasoning_content %}<mm:think>{{ m.reasoning_content }}</mm:think>{% endif %}"
       "{{ m.content }}{% if m.tool_calls %}]<]minimax[>[<tool_call>\n{% endif %}" CALLS
       "]<]minimax[>[<invoke name=\"{{ f.name }}\">{% for k, v in f.arguments | items "
       "%}]<]minimax[>[<{{ k }}>{{ element(v) }}]<]minimax[>[</{{ k }}>{% endfor %}"
       "]<]minimax[>[</invoke>\n{{ ']<]minimax[>[</tool_call>' if loop.last }}" END},
      {"gemma4", "gemma4",
       "{% macro loose(v) %}{% if v is string %}<|\"|>{{ v }}<|\"|>{% elif v is mapping %}{{ '{' }}"
       "{% for k, w in v | items %}{{ ',' if not loop.first }}{{ k }}:{{ loose(w) }}{% endfor %}}"
       "{% elif v is sequence %}[{% for w in v %}{{ ',' if not loop.first }}{{ loose(w) }}"
       "{% endfor %}]{% else %}{{ v | tojson }}{% endif %}{% endmacro %}" BEGIN
       "{% if m.reasoning_content %}<|channel>thought\n{{ m.reasoning_content }}<channel|>{% endif "
       "%}"
       "{{ m.content }}" CALLS
       "<|tool_call>call:{{ f.name }}{{ loose(f.arguments) }}<tool_call|>" END},
  };
  return all;
}

#undef THINK
#undef BEGIN
#undef VALUE
#undef CALLS
#undef END

}  // namespace foretoken
