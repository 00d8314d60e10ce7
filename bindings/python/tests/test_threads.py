"""Threads, forks, signals and the end of a model."""

import gc
import multiprocessing
import os
import shutil
import signal
import threading
import time
import unittest
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np

import attnc
from support import ENCODER, LETTERS, Case, letters, some_words, words

# Counts without end: random weights, no end token.
ENDLESS = """attnc: 1
name: endless
kind: decoder
d_model: 64
h: 2
d_ff: 256
N: 4
max_len: 100000
vocab: {size: 50}
positions: rotary
"""
STREAM = (f"import attnc, os, signal, threading, time\nSPEC = '''{ENDLESS}'''"
          "\nm = attnc.load(spec=SPEC, seed=1, threads=1)\n")


class Threads(Case):
    def test_many(self):
        texts = some_words(40)
        for threads in (1, 2):
            m = words(threads)
            rows = m.encode(texts)
            with ThreadPoolExecutor(8) as pool:
                for found in pool.map(lambda n: m.encode(texts, n),
                                      range(1, 33)):
                    np.testing.assert_array_equal(found, rows)
        with ThreadPoolExecutor(8) as pool:
            answers = pool.map(letters().generate, ["hello"] * 50)
            self.assertEqual(set(answers), {"HH EH L OW"})

    @unittest.skipUnless(any(map(shutil.which, ("clang", "gcc", "cc"))),
                         "no C compiler")
    def test_auto(self):
        """Rows have the same bits while the C compiler's code takes over, and
        no child process stays."""
        self.run_python(f"""if True:
            import os, tempfile, time, attnc
            from concurrent.futures import ThreadPoolExecutor
            from support import some_words
            with tempfile.TemporaryDirectory() as cache:
                os.environ["XDG_CACHE_HOME"] = cache
                texts = some_words(40)
                options = dict(spec={ENCODER!r}, seed=3, threads=1)
                rows = attnc.load(**options).encode(texts)

                def objects():
                    return [x for _, _, files in os.walk(cache)
                            for x in files if x.endswith(".note")]

                def work(_):
                    until = time.monotonic() + 60
                    while not objects() and time.monotonic() < until:
                        assert (m.encode(texts) == rows).all()
                    return all((m.encode(texts) == rows).all()
                               for _ in range(20))

                for wait in True, False:
                    with attnc.load(backend="auto", **options) as m:
                        if wait:
                            with ThreadPoolExecutor(4) as pool:
                                assert all(pool.map(work, range(4)))
                            assert objects()
                    try:
                        print(os.waitpid(-1, os.WNOHANG))
                        raise SystemExit("a child stays")
                    except ChildProcessError:
                        pass
            """)

    def test_processes(self):
        """8 processes open the same model and have the same rows."""
        texts = some_words(40)
        rows = words().encode(texts)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(8, context) as pool:
            for found in pool.map(words().encode, [texts] * 8):
                np.testing.assert_array_equal(found, rows)

    @unittest.skipUnless(hasattr(os, "sched_setaffinity"), "no affinity")
    def test_default_threads(self):
        """The default is the number of cores that the process may use."""
        cpu = min(os.sched_getaffinity(0))
        said = self.run_python(
            "import os, sys\n"
            "from support import ENCODER, attnc\n"
            "print(attnc.load(spec=ENCODER, seed=1).facts.threads)\n"
            "os.sched_setaffinity(0, [int(sys.argv[1])])\n"
            "print(attnc.load(spec=ENCODER, seed=1).facts.threads)", str(cpu))
        before, after = map(int, said.split())
        self.assertTrue(1 <= before <= len(os.sched_getaffinity(0)))
        self.assertEqual(after, 1)

    def test_open_at_once(self):
        with ThreadPoolExecutor(8) as pool:
            for m in pool.map(lambda i: attnc.load(spec=ENCODER, seed=3,
                                                   threads=1), range(8)):
                np.testing.assert_array_equal(m.encode("abc"),
                                              words().encode("abc"))

    def test_close(self):
        m = attnc.load(spec=ENCODER, seed=3, threads=1)
        m.close()
        m.close()
        for call in (lambda: m.encode("a"), lambda: m.tokens("a"),
                     lambda: m.generate("a")):
            with self.raises(ValueError, "the model is closed"):
                call()
        with attnc.load(spec=ENCODER, threads=1) as m:
            self.assertEqual(m.encode("a").shape, (16,))
        with self.raises(ValueError, "the model is closed"):
            m.encode("a")

    def test_close_in_use(self):
        for _ in range(5):
            m = attnc.load(spec=ENCODER, seed=3, threads=2)
            texts, ended = some_words(50), []

            def call():
                try:
                    while True:
                        m.encode(texts)
                except ValueError as error:
                    ended.append(str(error))

            threads = [threading.Thread(target=call) for _ in range(4)]
            for t in threads:
                t.start()
            time.sleep(0.01)
            m.close()
            for t in threads:
                t.join()
            self.assertEqual(ended, ["the model is closed"] * 4)

    def test_close_in_stream(self):
        m = attnc.load(spec=ENDLESS, seed=1, threads=1)
        answer = m.generate([1, 2], stream=True)
        next(answer)
        m.close()
        self.assertIsInstance(next(answer), int)
        answer.close()

    def test_collected(self):
        m = attnc.load(spec=ENCODER, seed=3, threads=2)
        native = weakref.ref(m._native)
        m.encode("a")
        del m
        gc.collect()
        self.assertIsNone(native())

    def test_kept(self):
        """A model keeps few handles, and closes others."""
        m = attnc.load(spec=ENCODER, seed=3, threads=1)
        for n in [*range(4, 24), 4]:
            m.encode("a", max_tokens=n)
        self.assertEqual([x[0][0] for x in m._native._free],
                         [*range(17, 24), 4])

    def test_close_in_take(self):
        """A handler or a finalizer closes the model while a call begins."""
        m = attnc.load(spec=ENCODER, seed=3, threads=1)
        found = m._native._new_handle

        def new_handle(limits):
            m.close()
            return found(limits)

        m._native._new_handle = new_handle
        self.assertEqual(m.encode("a").shape, (16,))
        self.assertTrue(m._native._ended)

    def test_attention_keeps_model(self):
        found = attnc.load(LETTERS, threads=1).attention("hello")
        gc.collect()
        self.assertTrue(found.svg.startswith("<svg"))


@unittest.skipUnless(hasattr(os, "fork"), "no fork")
class Forks(Case):
    def in_child(self, work):
        """Expects work() to return true in a child within a minute."""
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            good = False
            try:
                good = work()
            finally:
                os._exit(0 if good else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_fork(self):
        for threads in (1, 2):
            m = words(threads)
            row = m.encode("abc")
            self.in_child(lambda: np.array_equal(m.encode("abc"), row)
                          and m.close() is None)
            np.testing.assert_array_equal(m.encode("abc"), row)

    def test_forks(self):
        """8 children of one process use its model at once."""
        texts = some_words(40)
        for threads in (1, 2):
            m = words(threads)
            rows = m.encode(texts)
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _: self.in_child(
                    lambda: np.array_equal(m.encode(texts), rows)), range(8)))

    def test_fork_while_used(self):
        m, texts = words(2), some_words(50)
        row, stop = m.encode("abc"), []

        def call():
            while not stop:
                m.encode(texts)
                attnc.load(spec=ENCODER, seed=3, threads=2).close()

        threads = [threading.Thread(target=call) for _ in range(3)]
        for t in threads:
            t.start()
        try:
            for _ in range(5):
                self.in_child(lambda: np.array_equal(m.encode("abc"), row))
        finally:
            stop.append(1)
            for t in threads:
                t.join()

    def test_stream_of_parent(self):
        with attnc.load(spec=ENDLESS, seed=1, threads=1) as m:
            answer = m.generate([1, 2], stream=True)
            next(answer)

            def child():
                try:
                    list(answer)
                except RuntimeError as error:
                    return "another process" in str(error)

            self.in_child(child)
            answer.close()


class Signals(Case):
    def test_interrupt(self):
        """Ctrl-C ends an answer, and the model can be used after it."""
        for call in ("m.generate([1, 2])",
                     "list(m.generate([1, 2], stream=True))"):
            said = self.run_python(STREAM + (
                "threading.Timer(0.5, lambda: os.kill(os.getpid(), "
                "signal.SIGINT)).start()\n"
                f"try: {call}\n"
                "except KeyboardInterrupt: print('interrupted')\n"
                "print(len(m.generate([1, 2], n=5)))"))
            self.assertEqual(said, "interrupted\n5\n")

    def test_interrupt_attention(self):
        """Ctrl-C in attention(), and then close()."""
        said = self.run_python(
            "from support import LETTERS, attnc\n"
            "import os, signal, threading, time\n"
            "for after in (.002, .005, .01, .02, .03):\n"
            " m = attnc.load(LETTERS, threads=1)\n"
            " try:\n"
            "  threading.Timer(after, lambda: os.kill(os.getpid(), "
            "signal.SIGINT)).start()\n"
            "  while True: m.attention('hello').svg\n"
            " except KeyboardInterrupt: m.close()\n"
            " for _ in range(1000):\n"
            "  if m._native._ended: break\n"
            "  time.sleep(.01)\n"
            " print(m._native._ended)")
        self.assertEqual(said, "True\n" * 5)

    def test_exit(self):
        """An interpreter ends while an answer is made."""
        for threads in ("1", "2"):
            self.run_python(STREAM.replace("threads=1", "threads=" + threads)
                            + "answer = m.generate([1, 2], stream=True)\n"
                            "next(answer)\n"
                            "threading.Thread(target=m.generate, args=([1],), "
                            "kwargs={'n': 50}).start()")


if __name__ == "__main__":
    unittest.main()
