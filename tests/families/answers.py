"""Makes answers.json: answers of generate() of transformers, searched for as
the generation_config.json of a folder asks.

    python answers.py

A case: a folder of this folder; keys of its generation_config.json; the beam;
a prompt, or a source of an encoder-decoder; and its answer, at most `most`
tokens long. The keys change the answer. In a row with `counts` it would be
another one if the tokens before the answer did not count.
"""
import json
import pathlib
import random
import tempfile

import torch
import transformers

HERE = pathlib.Path(__file__).parent
MOST = 8
ALL = dict(repetition_penalty=1.7, no_repeat_ngram_size=3)
DECODER = [
    (dict(repetition_penalty=1.6), True),
    (dict(repetition_penalty=0.7), True),
    (dict(no_repeat_ngram_size=2), True),
    (dict(min_length=9), True),
    (dict(min_new_tokens=6, min_length=3), False),
    (dict(ALL, min_new_tokens=5), False),
]
PAIR = [
    (dict(repetition_penalty=1.6), False),
    (dict(no_repeat_ngram_size=2), False),
    (dict(min_length=7), False),
    (dict(min_new_tokens=7), False),
    (dict(ALL, min_length=6), False),
]
FOLDERS = {"llama": DECODER, "t5": PAIR, "bart": PAIR,
           "bart-forced": PAIR[-1:]}


class Behind:
    """A processor that does not see the tokens before the answer."""

    def __init__(self, of, lead):
        self.of, self.lead = of, lead

    def __call__(self, ids, scores):
        return self.of(ids[:, self.lead:], scores)


class Model:
    """A folder with these keys in its generation_config.json."""

    def __init__(self, folder, keys):
        path = HERE / folder
        own = json.loads((path / "generation_config.json").read_text())
        with tempfile.TemporaryDirectory() as name:
            to = pathlib.Path(name)
            for f in path.iterdir():
                if f.name != "generation_config.json":
                    (to / f.name).symlink_to(f)
            (to / "generation_config.json").write_text(
                json.dumps({**own, **keys}))
            config = transformers.AutoConfig.from_pretrained(to)
            self.model = getattr(
                transformers, config.architectures[0]).from_pretrained(
                    to, dtype=torch.float32).eval()
        self.model.generation_config.forced_eos_token_id = None
        self.both = config.is_encoder_decoder
        self.never = {own.get("pad_token_id"),
                      own.get("decoder_start_token_id")}

    def answer(self, ids, end, beam, alone=False):
        """The tokens behind the prompt or the start, without the end. `alone`:
        as if nothing stood before them."""
        self.model.generation_config.eos_token_id = end
        lead = 1 if self.both else len(ids)
        make = self.model._get_logits_processor
        if alone:
            self.model._get_logits_processor = lambda *a, **words: (
                transformers.LogitsProcessorList(
                    Behind(p, lead) for p in make(*a, **words)))
        out = self.model.generate(
            torch.tensor([ids]), num_beams=beam, do_sample=False,
            max_new_tokens=MOST, length_penalty=float(self.both),
            early_stopping=beam > 1)[0].tolist()[lead:]
        self.model._get_logits_processor = make
        return out[:out.index(end)] if end in out else out


def draw(d):
    return [d.randint(3, 40) for _ in range(d.randint(2, 7))]


def find(plain, folder, keys, counts, beam):
    """A prompt or source whose answer the keys change. The end is a token that
    comes early in it without them, or another one."""
    d = random.Random(json.dumps([folder, keys, beam]))
    model = Model(folder, keys)
    while True:
        ids = draw(d)
        first = plain.answer(ids, 2, beam)
        end = first[1] if len(first) > 1 and d.random() < 0.7 else 2
        answer = model.answer(ids, end, beam)
        if answer and not (model.never - {end}) & {*answer} \
                and answer != plain.answer(ids, end, beam) \
                and not (counts and
                         answer == model.answer(ids, end, beam, True)):
            return case(folder, keys, end, beam, ids, answer)


def find_sequence(plain, folder, beam):
    """A prompt's last token and what follows it, as a forbidden sequence."""
    ids = [5, 9, 30, 12]
    first = plain.answer(ids, 2, beam)[0]
    keys = dict(bad_words_ids=[[ids[-1], first]])
    return case(folder, keys, 2, beam, ids,
                Model(folder, keys).answer(ids, 2, beam))


def case(folder, keys, end, beam, ids, answer):
    made = dict(folder=folder, keys=dict(keys, eos_token_id=end), beam=beam,
                most=MOST, prompts=[ids], answers=[answer])
    print(made, flush=True)
    return made


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    cases = []
    for folder, rows in FOLDERS.items():
        plain = Model(folder, {})
        for beam in (1, 3):
            search = dict(num_beams=beam, early_stopping=beam > 1)
            if rows is DECODER:
                search = {}
                cases.append(find_sequence(plain, folder, beam))
            for keys, counts in rows:
                cases.append(find(plain, folder, {**keys, **search}, counts,
                                  beam))
    (HERE / "answers.json").write_text(
        "[" + ",\n".join(json.dumps(c, separators=(",", ":"))
                         for c in cases) + "]\n")


if __name__ == "__main__":
    main()
