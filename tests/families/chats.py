"""Makes chats.json: conversations as transformers' apply_chat_template has it.

    python chats.py

A template here is a short one of our own that says what the template of the
family says for a system's text and turns that alternate; it has the words by
which models/import/chat.yaml knows the family. Each is rendered with a system's
text and without, of turns with white space around them. `answers` are what the
model writes: a template may have a space before what it is given.
"""
import json
import pathlib

import tokenizers
import transformers

OUT = pathlib.Path(__file__).parent / "chats.json"
TURNS = ["\n Hello  there \t", "\u3000\u00e9t\u00e9 \u2003\u00a0"]
ANSWER = "Well."
SYSTEM = " Be brief.\n"


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


COHERE = "'<|START_OF_TURN_TOKEN|><|%s_TOKEN|>' + %s + '<|END_OF_TURN_TOKEN|>'"
LLAMA_2 = (
    "{% if messages[0]['role'] == 'system' %}{% set s = '<<SYS>>\n' + "
    "messages[0]['content'] + '\n<</SYS>>\n\n' %}{% set messages = "
    "messages[1:] %}{% else %}{% set s = '' %}{% endif %}"
    "{% for m in messages %}{% if m['role'] == 'user' %}"
    "{% set t = (s if loop.first else '') + m['content'] %}"
    "{{ bos_token + '[INST] ' + t.strip() + ' [/INST]' }}{% else %}"
    "{{ ' ' + m['content'].strip() + ' ' + eos_token }}{% endif %}"
    "{% endfor %}")
THOUGHTS = ("{% set reasoning_content = '' %}"
            "{% if enable_thinking is defined and enable_thinking is false %}"
            "{{ '<think>' }}{% endif %}")
# name, template, what the model puts before an answer, is there a system
ALL = [
    ("qwen 3", one("'<|im_start|>ROLE\n'", "'<|im_end|>\n'", begin="",
                   more=THOUGHTS), "", True),
    ("chatml", one("'<|im_start|>ROLE\n'", "'<|im_end|>\n'", begin=""), "",
     True),
    ("llama 3", one("'<|start_header_id|>ROLE<|end_header_id|>\n\n'",
                    "'<|eot_id|>'", "m['content'] | trim"), "", True),
    ("llama 3, turns as they are", one(
        "'<|start_header_id|>ROLE<|end_header_id|>\n\n'", "'<|eot_id|>'"), "",
     True),
    ("llama 2", LLAMA_2, " ", True),
    ("mistral 7B v0.1", inst(
        "{{ '[INST] ' + t + ' [/INST]' }}",
        "{{ m['content'] + eos_token }}", "loop.first"), "", True),
    ("mistral 7B v0.3", inst(
        "{{ \"[INST] \" + t + \"[/INST]\" }}{# [AVAILABLE_TOOLS] #}",
        "{{ ' ' + m['content'] | trim + eos_token }}", "loop.first"), " ",
     True),
    ("mistral nemo", inst(
        "{{ \"[INST]\" + t + \"[/INST]\" }}{# [AVAILABLE_TOOLS] #}",
        "{{ m['content'] + eos_token }}", "loop.first"), "", True),
    ("gemma", loop("", "{{ '<start_of_turn>user\n' + m['content'] | trim + "
                   "'<end_of_turn>\n' }}", "{{ '<start_of_turn>model\n' + "
                   "m['content'] | trim + '<end_of_turn>\n' }}",
                   "{{ '<start_of_turn>model\n' }}"), "", False),
    ("phi 3", one("'<|ROLE|>\n'", "'<|end|>\n'", begin="",
                  more="{# <|user|> <|assistant|> #}"), "", True),
    ("zephyr", one("'<|ROLE|>\n'", "eos_token + '\n'", begin="",
                   more="{# <|user|> <|assistant|> <|system|> #}"), "", True),
    ("granite 3.0", one("'<|start_of_role|>ROLE<|end_of_role|>'",
                        "'<|end_of_text|>\n'", begin=""), "", True),
    ("command r", loop(
        "{{ " + COHERE % ("SYSTEM", "m['content']") + " }}",
        "{% set content = m['content'] %}{{ "
        + COHERE % ("USER", "content.strip()") + " }}",
        "{{ " + COHERE % ("CHATBOT", "m['content'].strip()") + " }}",
        "{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}"
        "{% if false %}{% elif false == true %}{% endif %}"), "", True),
]


def record(name, template, space, system):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()),
        chat_template=template, bos_token="<B>", eos_token="</E>")
    turns = [{"role": role, "content": text} for role, text in
             zip(("user", "assistant", "user"), (TURNS[0], ANSWER, TURNS[1]))]
    found = {"name": name, "template": template, "answer": space + ANSWER}
    for key, first in (("plain", []), ("system", [
            {"role": "system", "content": SYSTEM}])):
        if system or not first:
            found[key] = tokenizer.apply_chat_template(
                first + turns, tokenize=False, add_generation_prompt=True)
    return found


def main():
    OUT.write_text(json.dumps(
        {"turns": TURNS, "system": SYSTEM,
         "chats": [record(*row) for row in ALL]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
