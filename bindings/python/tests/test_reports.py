"""Reports: graph(), plan(), bench(), sweep(), tune(); progress; Ctrl-C."""

import os
import signal
import tempfile
import threading
import unittest
from pathlib import Path

import attnc
from support import ENCODER, ROOT, Case

TINY = ROOT / "models/tiny.yaml"


class Reports(Case):
    def test_sweep(self):
        seen = []
        rows = attnc.sweep(TINY, vary={"h": [1, 2], "N": "1"}, r=2,
                           progress=lambda *at: seen.append(at))
        # by latency, which is measured
        self.assertEqual(sorted((row["h"], row["N"]) for row in rows),
                         [(1, 1), (2, 1)])
        self.assertTrue(all(row["encode_ms"] > 0 for row in rows))
        self.assertIn("sweep", seen[0][1])
        rows = attnc.sweep([TINY, ROOT / "models/attention.yaml"],
                           predict=True)
        self.assertEqual([Path(row["spec"]).name for row in rows],
                         ["tiny.yaml", "attention.yaml"])
        rows = attnc.sweep(spec=ENCODER, predict=True)
        self.assertEqual([row["spec"] for row in rows], ["spec.yaml"])
        with self.raises(attnc.InputError, "h (3) does not divide d_model"):
            attnc.sweep(TINY, vary={"h": 3})
        with self.raises(TypeError, "path"):
            attnc.sweep([])
        with self.raises(attnc.UsageError, "--svg=FILE"):
            attnc.sweep(TINY, svg="-", predict=True)

    def test_bench(self):
        found = attnc.bench(spec=ENCODER, seed=1, r=2, no_kernels=True)
        self.assertEqual(len(found["rows"]), 1)

    def test_progress_that_raises(self):
        def fails(done, text):
            raise KeyError("stop")

        with self.raises(KeyError, "stop"):
            attnc.sweep(TINY, vary={"h": [1, 2, 4, 8]}, progress=fails)

    @unittest.skipIf(threading.current_thread() is not
                     threading.main_thread(), "needs the main thread")
    def test_interrupt(self):
        with tempfile.TemporaryDirectory() as folder:
            timer = threading.Timer(1, os.kill,
                                    (os.getpid(), signal.SIGINT))
            timer.start()
            with self.raises(KeyboardInterrupt, ""):
                attnc.tune(TINY, budget="10m", backend="jit",
                           records=Path(folder, "records"))
            # waits until the tuning has ended
            self.assertTrue(attnc.plan(TINY)["parameters"])


if __name__ == "__main__":
    unittest.main()
