#!/usr/bin/env python3
"""scaling.py: texts per second of one model in Python, by the number of threads
or processes that call it, each call on one core; and by `threads`, the threads
of a call.

    ATTNC_LIBRARY=build/libattnc.so PYTHONPATH=bindings/python \\
        python bench/python/scaling.py MODEL [--most 16] [--texts 256]
            [--seconds 3] [--rounds 3] [--dtype f32]

MODEL: a spec with a vocabulary or a checkpoint's folder, which pools. Each line
has the median of the rounds and the efficiency: texts per second divided by the
number and by those of one. Rounds of all kinds alternate. The rows of each
caller are compared with those of a single call: `differing` is the number of
bytes that differ, which must be 0."""
import argparse
import multiprocessing
import os
import random
import statistics
import threading
import time


def some_texts(count):
    r = random.Random(5)
    return [" ".join("".join(r.choices("abcdefghijklmnopqrstuvwxyz",
                                       k=r.randint(1, 7)))
                     for _ in range(r.randint(5, 25))) for _ in range(count)]


def calls(model, texts, expected, until):
    """Encodes until a time. Returns how many texts, and differing bytes."""
    import numpy as np
    done = differing = 0
    while time.monotonic() < until or not done:
        rows = model.encode(texts, truncate=True)
        done += len(texts)
        differing += np.count_nonzero(rows.view(np.uint8)
                                      != expected.view(np.uint8))
    return done, int(differing)


def by_threads(model, texts, expected, n, seconds):
    found, begin = [], time.monotonic()
    workers = [threading.Thread(target=lambda: found.append(
        calls(model, texts, expected, begin + seconds))) for _ in range(n)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found, time.monotonic() - begin


def process(model, texts, expected, seconds, barrier, answer):
    model.encode(texts[:1], truncate=True)  # it is open
    barrier.wait(120)
    begin = time.monotonic()
    found = calls(model, texts, expected, begin + seconds)
    answer.send((found, time.monotonic() - begin))


def by_processes(model, texts, expected, n, seconds):
    context = multiprocessing.get_context("spawn")
    barrier, workers = context.Barrier(n), []
    for _ in range(n):
        take, answer = context.Pipe(False)
        worker = context.Process(target=process, args=(
            model, texts, expected, seconds, barrier, answer))
        worker.start()
        answer.close()           # so that recv() ends if the process does
        workers.append((worker, take))
    found = [take.recv() for _, take in workers]
    for worker, _ in workers:
        worker.join()
    return [x for x, _ in found], max(t for _, t in found)


def main():
    import attnc
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("--most", type=int, default=cores)
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", default="f32")
    args = parser.parse_args()

    def opened(threads):
        return attnc.load(args.model, dtype=args.dtype, threads=threads)

    texts, one = some_texts(args.texts), opened(1)
    expected = one.encode(texts, 1, truncate=True)
    numbers = [2**i for i in range(args.most.bit_length())]
    inside = {n: opened(n) for n in numbers if n <= cores}
    kinds = [("Python threads", n, lambda n=n: by_threads(
        one, texts, expected, n, args.seconds)) for n in numbers]
    kinds += [("processes", n, lambda n=n: by_processes(
        one, texts, expected, n, args.seconds)) for n in numbers]
    kinds += [("threads of a call", n, lambda n=n: by_threads(
        inside[n], texts, expected, 1, args.seconds)) for n in inside]
    rates = {kind[:2]: [] for kind in kinds}
    differing = dict.fromkeys(rates, 0)
    for _ in range(args.rounds):
        for name, n, run in random.sample(kinds, len(kinds)):
            found, seconds = run()
            rates[name, n].append(sum(x for x, _ in found) / seconds)
            differing[name, n] += sum(x for _, x in found)
    print(f"{one}, {cores} cores, {args.texts} texts a call\n\n"
          "| callers | number | texts/s | efficiency | differing |\n"
          "|---|---|---|---|---|")
    for (name, n), found in rates.items():
        rate = statistics.median(found)
        first = statistics.median(rates[name, 1])
        print(f"| {name} | {n} | {rate:.0f} | {rate / n / first:.2f} | "
              f"{differing[name, n]} |")
    raise SystemExit(any(differing.values()))


if __name__ == "__main__":
    main()
