"""chat(), translate(nbest=), score() of lists, logits(), state(), resume() and
attention()."""

import functools
import io
import json
import os
import pickle
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import attnc
from support import LETTERS, ROOT, Case, letters, words

TALK = ROOT / "tests/cli/chat.yaml"


@functools.cache
def talk() -> attnc.Model:
    return attnc.load(TALK, threads=1)


def command(*arguments: object, stdin: str = "") -> str:
    """Returns what `attnc run` prints."""
    program = os.environ.get("ATTNC", str(ROOT / "build/attnc"))
    done = subprocess.run([program, "run", *map(str, arguments)], input=stdin,
                          capture_output=True, text=True, check=True)
    return done.stdout


class Talk(Case):
    def test_chat(self):
        m, messages = talk(), []
        said = command(TALK, "--chat", stdin="hello\nhole\n").splitlines()
        for turn, expected in zip(("hello", "hole"), said):
            messages.append({"role": "user", "content": turn})
            answer = m.chat(messages)
            self.assertEqual(answer, expected)
            self.assertEqual("".join(m.chat(messages, stream=True)), expected)
            messages.append({"role": "assistant", "content": answer})
        one = [{"role": "system", "content": "he"},
               {"role": "user", "content": "hello"}]
        self.assertEqual(
            m.chat(one, n=3) + "\n",
            command(TALK, "--chat", "--system=he", "-n", 3, stdin="hello\n"))
        whole = m.chat(messages[:1])
        self.assertEqual(m.chat(messages[:1], stop=whole[-1]),
                         whole[:whole.index(whole[-1])])

    def test_chat_refused(self):
        m = talk()
        user = {"role": "user", "content": "hello"}
        with self.raises(TypeError, "message 1 must have the str 'content'"):
            m.chat([user, {"role": "assistant"}])
        for bad in "hello", [None]:
            with self.raises(TypeError, "message 0 must have the str 'role'"):
                m.chat(bad)
        with self.raises(attnc.UsageError, "message 1: its role must be"):
            m.chat([user, user])
        with self.raises(attnc.UsageError, "the last message must be"):
            m.chat([])
        with self.raises(attnc.InputError, "message 0: byte 1"):
            m.chat([{"role": "user", "content": "x"}])
        with self.raises(ValueError, "message 0 must not contain NUL"):
            m.chat([{"role": "user", "content": "h\0"}])
        with self.raises(attnc.UsageError, "the spec has no `chat`"):
            letters().chat([user])
        with self.raises(attnc.UsageError, "--beam is not an option of"):
            m.chat([user], beam=2)

    def test_nbest(self):
        m = letters()
        found = m.translate(["hello", "read"], nbest=3)
        said = command(LETTERS, "--nbest=3", "--scores",
                       stdin="hello\nread\n").splitlines()
        self.assertEqual(
            [f"{i + 1}\t{score:.7g}\t{text}" for i, answers in
             enumerate(found) for text, score in answers], said)
        self.assertEqual(m.translate("hello", nbest=3), found[0])
        self.assertEqual(m.translate("hello", nbest=1)[0][0], "HH EH L OW")
        many = ["hello", "read", "attention"] * 30
        self.assertEqual(m.translate(many, batch_size=7),
                         m.translate(many[:3]) * 30)
        with self.raises(ValueError, "batch_size must be at least 1"):
            m.translate("a", batch_size=0)
        with self.raises(attnc.UsageError, "--stop is not an option of"):
            m.translate("a", stop="b")
        with self.raises(attnc.InputError, "question 1: byte 2"):
            m.translate(["a", "a1"])
        with self.raises(attnc.InputError, "question 3: byte 2"):
            m.translate(["a", "a", "a", "a1"], batch_size=2)

    def test_stop(self):
        m = letters()
        self.assertEqual(m.generate("hello", beam=1, stop="L"), "HH EH ")
        self.assertEqual(m.generate("hello", stop=["ZH", "H L"]), "HH E")
        self.assertEqual(len(m.generate(m.tokens("hello"), beam=1, stop="L")),
                         2)

    def test_scores(self):
        m = letters()
        both = ["hello", "read"], ["HH EH L OW", "R EH D"]
        scores = m.score(*both)
        self.assertEqual(scores.tolist(), [m.score(*x) for x in zip(*both)])
        self.assertEqual(m.score([], []).shape, (0,))
        with self.raises(ValueError, "must have the same length"):
            m.score(["a"], ["a", "b"])

    def test_logits(self):
        m = letters()
        rows = m.logits("hello", "HH EH L OW")
        self.assertEqual(rows.shape, (5, m.facts.target_vocab))
        np.testing.assert_array_equal(
            rows, m.logits(m.tokens("hello"),
                           m.tokens("HH EH L OW", target=True)))
        np.testing.assert_array_equal(
            rows[-2:], m.logits("hello", "HH EH L OW", last=2))
        np.testing.assert_array_equal(rows[:1], m.logits("hello"))
        self.assertEqual(rows.argmax(axis=1)[:4].tolist(),
                         m.generate(m.tokens("hello"), beam=1).tolist())
        decoder = talk()
        ids = decoder.tokens("^<lo>")
        np.testing.assert_array_equal(decoder.logits("^<lo>"),
                                      decoder.logits(ids))
        self.assertEqual(len(decoder.logits(ids)), len(ids))
        with self.raises(TypeError, "must both be texts, or both ids"):
            m.logits("a", [1])
        for bad in -1, 2**64:
            with self.raises(ValueError, "last must be 0 to 2**63 - 1, not"):
                m.logits("a", last=bad)
        with self.raises(attnc.InputError, "an id or a type"):
            m.logits([999])
        with self.raises(attnc.UsageError, "does not do that"):
            words().logits("a")

    def test_state(self):
        m = letters()
        state = m.state("hello", n=2)
        self.assertEqual(state.text, "HH EH")
        self.assertEqual(m.resume(state), " L OW")
        self.assertEqual("".join(m.resume(pickle.loads(pickle.dumps(state)),
                                          stream=True)), " L OW")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state")
            command(LETTERS, "--prompt=hello", "-n", 2, "--quiet",
                    f"--save-state={path}")
            self.assertEqual(path.read_bytes(), state)
        decoder = talk()
        begun = decoder.state("^<lo><h")
        self.assertEqual(begun.text, "")
        self.assertEqual(decoder.resume(begun, "ello>{"),
                         decoder.generate("^<lo><hello>{"))
        with self.raises(attnc.InputError, "the state: cut short"):
            m.resume(state[:-1])
        with self.raises(attnc.InputError, "saved by another model"):
            decoder.resume(state)
        with self.raises(attnc.UsageError, "no text can follow it"):
            m.resume(state, "a")
        with self.raises(TypeError, "prompt must be str, not NoneType"):
            m.resume(state, None)
        with self.raises(TypeError, "state must be bytes, not int"):
            m.resume(7)
        for call in m.resume, m.state:
            with self.raises(TypeError, "nbest is an option of translate()"):
                call(state if call == m.resume else "a", nbest=2)
        with self.raises(TypeError, "prompt must be str, not ndarray"):
            m.state(m.tokens("hello"))

    def test_attention(self):
        m = letters()
        found = m.attention("hello")
        self.assertEqual(found.answer, "HH EH L OW")
        self.assertEqual(found.source, [*"hello", "</s>"])
        self.assertEqual(found.target[1:], ["HH", "EH", "L", "OW"])
        cross = found.stacked("target", "source")
        self.assertEqual((cross.shape[2:], cross.dtype), ((5, 6), np.float32))
        np.testing.assert_allclose(cross.sum(axis=-1), 1, rtol=1e-5)
        own = found["decoder.0.self_attn.weights"]
        self.assertEqual((own.layer, own.queries, own.keys),
                         (0, "target", "target"))
        np.testing.assert_array_equal(own.hidden, np.triu(np.ones((5, 5)), 1))
        self.assertEqual(own.weights[:, own.hidden].max(), 0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.json")
            command(LETTERS, "--prompt=hello", f"--attention={path}")
            first = json.loads(path.read_text())["attention"][0]
            np.testing.assert_array_equal(
                np.array(first["weights"], np.float32),
                found[first["name"]].weights[first["head"]])
            picture = Path(folder, "a.svg")
            command(LETTERS, "--prompt=hello", f"--attention={picture}")
            self.assertEqual(found._repr_html_(), picture.read_text())
        self.assertEqual(len(m.attention("a", n=0, layer=1).maps), 3)
        with self.raises(KeyError, "no attention of"):
            found.stacked("key", "source")
        with self.raises(KeyError, "x"):
            found["x"]
        with self.raises(attnc.UsageError, "--layer 9 is out of range"):
            m.attention("a", layer=9)
        with self.raises(TypeError, "a text must be str, not NoneType"):
            m.attention(None)
        self.assertEqual(repr(found), "<attnc.Attention: 9 maps, 6 and 5 "
                                      "tokens>")

    def test_weights(self):
        data = (ROOT / "models/g2p-en/g2p-en.safetensors").read_bytes()
        n = 8 + int.from_bytes(data[:8], "little")
        arrays = {}
        for name, x in json.loads(data[8:n]).items():
            if name != "__metadata__":
                first, end = (n + i for i in x["data_offsets"])
                self.assertEqual(x["dtype"], "F32")
                arrays[name] = np.frombuffer(
                    data[first:end], np.float32).reshape(x["shape"])
        expected = letters().logits("hello", "HH EH L OW")
        for weights in data, bytearray(data), arrays:
            with attnc.load(LETTERS, weights=weights, threads=1) as m:
                np.testing.assert_array_equal(
                    m.logits("hello", "HH EH L OW"), expected)
                self.assertEqual(len(m.attention("a").maps), 9)
                self.assertEqual(m.hidden("hello", "HH").shape, (2, 128))
                copy = pickle.loads(pickle.dumps(m))
                self.assertEqual(copy.translate("hello"), "HH EH L OW")
        with io.BytesIO(data) as file:
            with attnc.load(LETTERS, weights=file, threads=1) as m:
                np.testing.assert_array_equal(
                    m.logits("hello", "HH EH L OW"), expected)
                self.assertEqual(len(m.attention("a").maps), 9)
                self.assertEqual(m.hidden("hello", "HH").shape, (2, 128))
        with self.raises(ValueError, "closed file"):
            attnc.load(LETTERS, weights=file)
        with self.raises(TypeError, "a bytes-like object is required"):
            attnc.load(LETTERS, weights=io.StringIO("{}"))
        with self.raises(attnc.InputError, "weights of the caller: "):
            attnc.load(LETTERS, weights=io.BytesIO(data[:1000]))
        with self.raises(attnc.InputError, "weights in memory: "):
            attnc.load(LETTERS, weights=b"{}")

    def test_threads(self):
        """Conversations of several threads do not mix."""
        m, found = talk(), {}
        turns = ["hello", "hole", "hell", "o"]

        def run(turn):
            messages, answers = [], []
            for _ in range(3):
                messages.append({"role": "user", "content": turn})
                answers.append(m.chat(messages))
                messages.append({"role": "assistant",
                                 "content": answers[-1]})
            found[turn] = answers

        threads = [threading.Thread(target=run, args=(t,)) for t in turns]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for turn in turns:
            said = command(TALK, "--chat", stdin=f"{turn}\n" * 3)
            self.assertEqual(found[turn], said.splitlines())

    def test_tokens_are_what_is_answered(self):
        m = attnc.load(spec=f"""
            attnc: 1
            name: d
            kind: decoder
            d_model: 16
            h: 2
            d_ff: 32
            N: 1
            max_len: 24
            vocab:
              file: {ROOT}/tests/families/texts/bert/tokenizer.json
              tokens: {{start: 2, end: 3}}
            """, seed=1, threads=1)
        ids = m.tokens("a b")  # without the start token, which comes first
        self.assertEqual(ids.tolist(), [5, 6, 3])
        self.assertEqual(m.text(m.generate(ids, n=5)),
                         m.generate("a b", n=5).strip())


if __name__ == "__main__":
    unittest.main()
