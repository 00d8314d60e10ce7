"""Makes chats.json: conversations as transformers' apply_chat_template has it.

    python chats.py

A template here is a short one of our own that says what the template of the
family says for a system's text and turns that alternate. Each is rendered for
200 conversations: with and without a system's text, of one to four turns, some
empty, blank, or with white space around them. chats.json has the conversations
and, for each template, a hash (FNV-1a, 32 bits) of each rendering; "-" where
the template refuses the conversation. `lead` is what the model writes before an
answer: a template may have a space before what it is given.

`expressions` are small templates and what Jinja makes of them, null for a
failure: they test the parser and the evaluator.
"""
import datetime
import json
import pathlib
import random

import tokenizers
import transformers
from transformers.utils import chat_template_utils

OUT = pathlib.Path(__file__).parent / "chats.json"
TEXTS = ["Hello", "Who are you?", "Two\n\nparagraphs:\n  - one\n", "a", "x < y",
         "\n Hello  there \t", "\u3000\u00e9t\u00e9 \u2003\u00a0", " ", "\n\n",
         "", "7", "It's \"so\""]
ANSWERS = ["Well.", "1\n2\n\n3", "\u00c9t\u00e9", "Yes, 'it' is"]
SYSTEMS = ["Be brief.", " Be brief.\n", "", " \n", "One.\n\nTwo."]


def loop(system, user, assistant, then, begin="{{ bos_token }}"):
    return (begin + "{% for m in messages %}{% if m['role'] == 'system' %}"
            + system + "{% elif m['role'] == 'user' %}" + user
            + "{% else %}" + assistant + "{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}" + then + "{% endif %}")


def one(mark, end, content="m['content']", begin="{{ bos_token }}", more=""):
    """Each turn behind its role."""
    return (begin + more + "{% for m in messages %}{{ " + mark.replace(
        "ROLE", "' + m['role'] + '") + " + " + content + " + " + end
        + " }}{% endfor %}{% if add_generation_prompt %}{{ "
        + mark.replace("ROLE", "assistant") + " }}{% endif %}")


def inst(user, assistant, joined):
    """Mistral's: the system's text in the turn `joined`."""
    return ("{% if messages[0]['role'] == 'system' %}{% set s = "
            "messages[0]['content'] %}{% set messages = messages[1:] %}"
            "{% else %}{% set s = none %}{% endif %}" + loop(
                "", "{% if s is not none and " + joined + " %}"
                "{% set t = s + '\n\n' + m['content'] %}{% else %}"
                "{% set t = m['content'] %}{% endif %}" + user, assistant, ""))


def own_system(text):
    """A turn of the system's that the template has if the conversation has
    none."""
    return ("{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
            + text + "<|im_end|>\n' }}{% endif %}")


COHERE = "'<|START_OF_TURN_TOKEN|><|%s_TOKEN|>' + %s + '<|END_OF_TURN_TOKEN|>'"
LLAMA_2 = (
    "{% if messages[0]['role'] == 'system' %}{% set s = '<<SYS>>\n' + "
    "messages[0]['content'] + '\n<</SYS>>\n\n' %}{% set messages = "
    "messages[1:] %}{% else %}{% set s = '' %}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != "
    "(loop.index0 % 2 == 0) %}{{ raise_exception('roles take turns') }}"
    "{% endif %}{% if m['role'] == 'user' %}"
    "{% set t = (s if loop.first else '') + m['content'] %}"
    "{{ bos_token + '[INST] ' + t.strip() + ' [/INST]' }}{% else %}"
    "{{ ' ' + m['content'].strip() + ' ' + eos_token }}{% endif %}"
    "{% endfor %}")
LLAMA_3_1 = """\
{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = DATE %}
{%- endif %}

{#- The system's text. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set text = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set text = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Knowledge: December 2023\\n" }}
{{- "Today: " + date_string + "\\n\\n" }}
{{- text }}
{{- "<|eot_id|>" }}
{%- for m in messages %}
    {%- if not (m.role == 'ipython' or 'tool_calls' in m) %}
        {{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' }}
        {{- m['content'] | trim + '<|eot_id|>' }}
    {%- elif m.tool_calls|length != 1 %}
        {{- raise_exception("one call at a time") }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
GEMMA_3 = """\
{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set before = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set before = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set turns = messages[1:] -%}
{%- else -%}
    {%- set before = "" -%}
    {%- set turns = messages -%}
{%- endif -%}
{%- for m in turns -%}
    {%- set role = "model" if m['role'] == 'assistant' else m['role'] -%}
    {{ '<start_of_turn>' + role + '\\n' + (before if loop.first else "") }}
    {%- if m['content'] is string -%}
        {{ m['content'] | trim }}
    {%- elif m['content'] is iterable -%}
        {%- for part in m['content'] -%}{{ part['text'] | trim }}{%- endfor -%}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\\n'}}
{%- endif -%}
"""
QWEN_3 = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' + (tools[0] | tojson) + '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(looks=true, last=messages|length - 1) %}
{%- for m in messages[::-1] %}
    {%- set i = (messages|length - 1) - loop.index0 %}
    {%- if ns.looks and m.role == "user" and m.content is string and
        not(m.content.startswith('<tool>') and m.content.endswith('</tool>')) %}
        {%- set ns.looks = false %}
        {%- set ns.last = i %}
    {%- endif %}
{%- endfor %}
{%- for m in messages %}
    {%- set content = m.content if m.content is string else '' %}
    {%- if (m.role == "user") or (m.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + m.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif m.role == "assistant" %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last %}
            {{- '<|im_start|>' + m.role + '\\n<think>\\n' }}
            {{- thought.strip('\\n') + '\\n</think>\\n\\n' }}
            {{- content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + m.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""
CALLED = """\
{%- macro turn(role, content, end='<|end|>') -%}
    {{- '<|start|>' ~ role ~ '<|message|>' ~ content ~ end -}}
{%- endmacro -%}
{%- for m in messages -%}
    {%- if m.role == 'assistant' -%}
        {%- generation -%}{{- turn('assistant', m.content, end='<|stop|>') -}}
        {%- endgeneration -%}
        {%- continue -%}
    {%- endif -%}
    {{- turn(m.role, m.content) -}}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant<|message|>{%- endif -%}
"""
CHATML = "'<|im_start|>ROLE\n'"
LLAMA_3 = "'<|start_header_id|>ROLE<|end_header_id|>\n\n'"
# name, template, what the model writes before an answer
ALL = [
    ("qwen 3", QWEN_3, ""),
    ("qwen 2.5", own_system("You are Qwen.") + one(
        CHATML, "'<|im_end|>\n'", begin=""), ""),
    ("chatml", one(CHATML, "'<|im_end|>\n'", begin=""), ""),
    ("chatml without lines", one("'<|im_start|>ROLE '", "'<|im_end|>'",
                                 begin=""), ""),
    ("chatml with an end token", one(CHATML, "eos_token + '\n'", begin=""),
     ""),
    ("chatml, trimmed", one(CHATML, "'<|im_end|>\n'", "m.content | trim",
                            begin=""), ""),
    ("chatml, another default", own_system("Talk like a pirate.") + one(
        CHATML, "'<|im_end|>\n'", begin=""), ""),
    ("llama 3", one(LLAMA_3, "'<|eot_id|>'", "m['content'] | trim"), ""),
    ("llama 3, turns as they are", one(LLAMA_3, "'<|eot_id|>'"), ""),
    ("llama 3.1", LLAMA_3_1.replace("DATE", '"26 Jul 2024"'), ""),
    ("llama 3.2", LLAMA_3_1.replace(
        "DATE", "strftime_now('%d %b %Y') if strftime_now is defined else ''"),
     ""),
    ("llama 2", LLAMA_2, " "),
    ("mistral 7B v0.1", inst("{{ '[INST] ' + t + ' [/INST]' }}",
                             "{{ m['content'] + eos_token }}", "loop.first"),
     ""),
    ("mistral 7B v0.3", inst(
        "{{ \"[INST] \" + t + \"[/INST]\" }}",
        "{{ ' ' + m['content'] | trim + eos_token }}", "loop.last"), " "),
    ("gemma", "{% if messages[0]['role'] == 'system' %}"
     "{{ raise_exception('no system') }}{% endif %}" + loop(
         "", "{{ '<start_of_turn>user\n' + m['content'] | trim + "
         "'<end_of_turn>\n' }}", "{{ '<start_of_turn>model\n' + "
         "m['content'] | trim + '<end_of_turn>\n' }}",
         "{{ '<start_of_turn>model\n' }}"), ""),
    ("gemma 3", GEMMA_3, ""),
    ("phi 3", one("'<|ROLE|>\n'", "'<|end|>\n'", begin=""), ""),
    ("phi 3 without lines", one("'<|ROLE|>'", "'<|end|>'", begin=""), ""),
    ("phi 3.5", loop(
        "{% if m['content'] %}{{'<|system|>\n' + m['content'] + '<|end|>\n'}}"
        "{% endif %}", "{{ '<|user|>\n' + m['content'] + '<|end|>\n' }}",
        "{{ '<|assistant|>\n' + m['content'] + '<|end|>\n' }}",
        "{{ '<|assistant|>\n' }}", begin=""), ""),
    ("phi 4", one("'<|im_start|>ROLE<|im_sep|>'", "'<|im_end|>'", begin=""),
     ""),
    ("zephyr", one("'<|ROLE|>\n'", "eos_token + '\n'", begin=""), ""),
    ("granite 3.0", one("'<|start_of_role|>ROLE<|end_of_role|>'",
                        "'<|end_of_text|>\n'", begin=""), ""),
    ("command r", loop(
        "{{ " + COHERE % ("SYSTEM", "m['content']") + " }}",
        "{% set content = m['content'] %}{{ "
        + COHERE % ("USER", "content.strip()") + " }}",
        "{{ " + COHERE % ("CHATBOT", "m['content'].strip()") + " }}",
        "{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}"), ""),
    ("macros", CALLED, ""),
    ("a system's text in capitals", one("'<ROLE>'", "'\n'",
     "(m.content | upper if m.role == 'system' else m.content)", begin=""), ""),
    ("turns with numbers", loop(
        "", "{{ loop.index ~ ': ' ~ m.content ~ '\n' }}",
        "{{ loop.index ~ '. ' ~ m.content ~ '\n' }}", "A: "), ""),
    ("channels", one("'<|ROLE|>'", "'<|end|>'",
     "('<|final|>' if m.role == 'assistant' else '') + m.content", begin=""),
     ""),
]
# rendered with `messages` of [user "Hi", assistant "Oh"] and n = 3
EXPRESSIONS = [
    "  {% if n %}\n a\n  {% endif %}\n b {{- ' c ' -}} \n d\n\n",
    "a\r\nb\n{# x #}\nc{#- y -#} d\n   {# z #} e",
    "{%+ if true %} x {%+ endif +%}\n y\n {%- if 1 -%} \n z {% endif %}\n",
    "{{ 'it\\'s \\x41\\u00e9\\n' + \"q\" 'r' }}|{{ '\\d' }}",
    "{{ 1 + 2 * 3 - 4 // 3 % 2 }} {{ -n + 1 }} {{ (1, 2)[1] }} {{ 7 % 3 }}",
    "{{ 'a' ~ 1 ~ none ~ true }} {{ 'x' if false }}|{{ 1 if n > 2 else 0 }}",
    "{{ n == 3 and 'yes' or 'no' }} {{ not n is defined }} {{ not false }}",
    "{{ 'a' in 'cat' }} {{ 'b' not in ['a', 'b'] }} {{ 'k' in {'k': 1} }}",
    "{{ m is defined }} {{ m is undefined }} {{ none is none }}"
    " {{ n is string }} {{ 'a' is string }} {{ {} is mapping }}"
    " {{ [] is iterable }}"
    " {{ n is number }} {{ true is boolean }} {{ false is false }}",
    "{{ n is odd }} {{ n is even }} {{ n is eq 3 }} {{ n is ne(3) }}"
    " {{ n is in [3] }} {{ true is sameas true }} {{ n is not none }}",
    "{{ ' a\\u3000'|trim }}|{{ 'xaxbx'.strip('x') }}|{{ ' a '.lstrip() }}|"
    "{{ ' a '.rstrip() }}|{{ 'aab'.lstrip('a') }}",
    "{{ 'a,b,c'.split(',')[-1] }} {{ 'a,b,c'.split(',', 1)|join('+') }}"
    " {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith('bc') }}",
    "{{ 'aBc'|upper }} {{ 'aBc'.lower() }} {{ 'ab cd'|title }}"
    " {{ 'ab cd'.capitalize() }} {{ 'aXbX'.replace('X', '--') }}"
    " {{ 'aXb'|replace('X', '') }}",
    "{{ '\u00e9t\u00e9'|length }} {{ '\u00e9t\u00e9'[0] }}"
    " {{ 'abcdef'[1:-1:2] }} {{ 'abc'[::-1] }} {{ 'abc'[5:] }}|"
    "{{ 'abc'[-2:] }} {{ [1,2,3][:2]|length }}",
    "{{ messages[0].role }} {{ messages[-1]['content'] }} {{ messages[9] }}|"
    "{{ messages[0].none }}|{{ messages|length }} "
    "{{ (messages|last).content }}",
    "{{ {'a': [1, none, true], 'b': 'x\"\u00e9'}|tojson }} {{ 'l\\n'|tojson }}",
    "{{ x|default('d') }} {{ ''|default('e', true) }} {{ ''|default('e') }}"
    " {{ none|d('f', boolean=true) }}",
    "{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 2) }}"
    "{% for k, v in {'a': 1, 'b': 2}.items() %} {{ k }}={{ v }}{% endfor %}"
    " {{ {'x': 1}.keys()|list|join }} {{ {'x': 'y'}.values()|list|join }}",
    "{% for i in range(1, 6) if i != 2 %}{{ loop.index }}:{{ i }}"
    "{{ ',' if not loop.last }}{% else %}none{% endfor %}"
    "{% for i in [] %}{% else %}none{% endfor %}",
    "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}"
    "{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}.",
    "{% for a in 'xyz' %}{{ loop.previtem }}{{ a }}{{ loop.nextitem }}"
    "{{ loop.revindex }}{{ loop.first }}{% endfor %}",
    "{% set a = 1 %}{% for i in [1, 2] %}{% set a = a + i %}{{ a }}{% endfor %}"
    "{{ a }}{% if true %}{% set a = 5 %}{% endif %}{{ a }}",
    "{% set ns = namespace(a=1) %}{% for i in [1, 2] %}"
    "{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}"
    "{% set ns.b = 'x' %}{{ ns.b }}",
    "{% set x %}a{{ n }}b{% endset %}{{ x|length }}{{ x }}",
    "{% macro f(a, b='q') %}<{{ a }}{{ b }}{{ n }}{{ z }}>{% endmacro %}"
    "{% for z in [1] %}{{ f(1) }}{{ f(2, 3) }}{{ f(b=4, a=5) }}{% endfor %}",
    "{{ messages|selectattr('role', 'equalto', 'user')|list|length }}"
    " {{ messages|rejectattr('role', 'equalto', 'user')|"
    "map(attribute='content')|join }} "
    "{{ messages|selectattr('x')|list|length }}",
    "{{ ([1] + [2])|join(' ') }} {{ [3, 4]|first }} {{ dict(a=1).a }}"
    " {{ '5'|string }} {{ 1 < 2 }} {{ 'a' < 'b' }} {{ 2 >= 2 }} "
    "{{ 1 == true }}",
    "{{ strftime_now('%d %b %Y %B %m %y %A %a %H:%M:%S') }} {{ strftime_now is "
    "defined }}",
    "{% generation %}g{% endgeneration %}{{ {'a': {'b': 2}}['a']['b'] }}",
    "{{ raise_exception('no') }}", "{{ x.y }}", "{{ 'a' + 1 }}",
    "{{ 'a' + x }}",
    "{{ none + 'a' }}", "{% for i in none %}{% endfor %}", "{{ 1 in 'a' }}",
    "{% if n %}", "{{ n ", "{% endif %}", "{{ 'a }}", "{# a", "{{ n n }}",
    "{{ n | nothing }}", "{{ 'a'.nothing() }}", "{{ nothing() }}",
    "{% set x.y = 1 %}", "{{ ) }}", "{{ [1, }}", "{{ 1 < 'a' }}",
]


def hash_of(text):
    h = 2166136261
    for byte in text.encode():
        h = (h ^ byte) * 16777619 & 0xffffffff
    return "%08x" % h


def conversations():
    dice = random.Random(1)
    for _ in range(200):
        n = dice.choice((1, 1, 2, 3, 4))
        yield {"system": dice.choice(SYSTEMS) if dice.random() < 0.5 else None,
               "turns": [dice.choice(TEXTS) for _ in range(n)],
               "answers": [dice.choice(ANSWERS) for _ in range(n - 1)]}


def messages_of(talk):
    system = talk["system"]
    out = [] if system is None else [{"role": "system", "content": system}]
    for i, turn in enumerate(talk["turns"]):
        if i:
            out.append({"role": "assistant", "content": talk["answers"][i - 1]})
        out.append({"role": "user", "content": turn})
    return out


def rendered(template, messages, **more):
    """What transformers makes of it; None for a failure."""
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()),
        chat_template=template, bos_token="<B>", eos_token="</E>")
    try:
        return tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **more)
    except Exception:  # of any kind: Jinja and Python have many
        return None


def record(name, template, lead, talks):
    texts = [rendered(template, messages_of(talk)) for talk in talks]
    return {"name": name, "template": template, "lead": lead,
            "hashes": " ".join("-" if t is None else hash_of(t)
                               for t in texts)}


class Day(datetime.datetime):
    """attnc's day of strftime_now()."""
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26, 12)


def main():
    chat_template_utils.datetime = Day
    talks = list(conversations())
    pair = [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Oh"}]
    OUT.write_text(json.dumps(
        {"talks": talks, "chats": [record(*row, talks) for row in ALL],
         "expressions": [[t, rendered(t, pair, n=3)] for t in EXPRESSIONS]},
        indent=0) + "\n")


if __name__ == "__main__":
    main()
