"""Train the grapheme-to-phoneme Transformer of g2p-en.yaml.

The paper's architecture (post-norm, ReLU, sinusoidal positions, embeddings
times sqrt(d_model), logits tied to the target embedding) on the CMU
dictionary that Debian's package pocketsphinx-en-us ships: 39 phonemes, no
stress. Held out are the words whose md5, as a number, is 0 modulo 20.

    train.py MINUTES OUT.safetensors [--init IN.safetensors] [--lr 1.5e-3]
    train.py --heldout OUT.txt

The first form prints, after each pass over the data, the phoneme and word
error (greedy) of the averaged weights on 1,000 held-out words, and at the end
those on all of them, greedy and with beam 4. The second form writes the
held-out words, a line each: the word, then its pronunciations, tabs between.
"""
import argparse
import hashlib
import math
import random
import re
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

DICTIONARY = "/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict"
D_MODEL, HEADS, D_FF, LAYERS, DROPOUT = 128, 4, 512, 3, 0.1
MAX_LEN, MAX_OUTPUT = 64, 40
BATCH, POOL, WARMUP, SMOOTHING, AVERAGE = 256, 40, 1000, 0.1, 0.002
PAD, START, END = 0, 1, 2
SPECIAL = ["<pad>", "<s>", "</s>"]
NEVER = -1e9          # stands for minus infinity in scores


class Dictionary:
    """Words with all their pronunciations, split in two, and the ids."""

    def __init__(self, path):
        self.prons = {}
        for line in open(path, encoding="utf-8", errors="replace"):
            word, *phones = line.split()
            word = re.sub(r"\(\d+\)$", "", word)
            if re.fullmatch(r"[a-z']+", word) and phones:
                self.prons.setdefault(word, []).append(tuple(phones))
        self.held = [w for w in sorted(self.prons) if is_held_out(w)]
        self.train = sorted(set(self.prons) - set(self.held))
        used = {p for v in self.prons.values() for t in v for p in t}
        self.letters = SPECIAL + list("abcdefghijklmnopqrstuvwxyz'")
        self.phones = SPECIAL + sorted(used)
        self.letter_id = {c: i for i, c in enumerate(self.letters)}
        self.phone_id = {p: i for i, p in enumerate(self.phones)}

    def sources(self, words):
        """Letters and the end token of each word, padded."""
        return pad([[self.letter_id[c] for c in w] + [END] for w in words])

    def targets(self, words):
        """One pronunciation of each word, by chance, start to end, padded."""
        return pad([[START]
                    + [self.phone_id[p] for p in random.choice(self.prons[w])]
                    + [END] for w in words])

    def write_held_out(self, path):
        with open(path, "w", encoding="utf-8") as out:
            for w in self.held:
                prons = [" ".join(p) for p in self.prons[w]]
                print(w, *prons, sep="\t", file=out)


def is_held_out(word):
    return int(hashlib.md5(word.encode()).hexdigest(), 16) % 20 == 0


def pad(rows):
    n = max(map(len, rows))
    return torch.tensor([r + [PAD] * (n - len(r)) for r in rows])


def positions(n, d):
    """PE(pos,2i) = sin(pos/10000^(2i/d)), PE(pos,2i+1) = cos of the same."""
    rate = 10000 ** (torch.arange(0, d, 2).double() / d)
    angle = torch.arange(n).double()[:, None] / rate
    table = torch.zeros(n, d, dtype=torch.double)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()
    return table.float()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(D_MODEL, D_MODEL)
                                          for _ in range(4))

    def forward(self, x, memory, allowed):
        def heads(t):
            return t.view(t.shape[0], -1, HEADS,
                          D_MODEL // HEADS).transpose(1, 2)
        scores = heads(self.q(x)) @ heads(self.k(memory)).transpose(-1, -2)
        scores = scores / math.sqrt(D_MODEL // HEADS)
        weights = scores.masked_fill(~allowed, NEVER).softmax(-1)
        context = weights @ heads(self.v(memory))
        return self.o(context.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(D_MODEL, D_FF)
        self.w2 = nn.Linear(D_FF, D_MODEL)

    def forward(self, x):
        return self.w2(F.relu(self.w1(x)))


class Layer(nn.Module):
    """An encoder layer, or with `cross` a decoder layer."""

    def __init__(self, cross):
        super().__init__()
        self.self_attn, self.ffn = Attention(), FeedForward()
        self.norm1, self.norm2 = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)
        if cross:
            self.cross_attn, self.norm3 = Attention(), nn.LayerNorm(D_MODEL)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x, allowed, memory=None, memory_allowed=None):
        x = self.norm1(x + self.drop(self.self_attn(x, x, allowed)))
        if memory is not None:
            context = self.cross_attn(x, memory, memory_allowed)
            x = self.norm3(x + self.drop(context))
        return self.norm2(x + self.drop(self.ffn(x)))


class Transformer(nn.Module):
    def __init__(self, n_letters, n_phones):
        super().__init__()
        self.source = nn.Embedding(n_letters, D_MODEL)
        self.target = nn.Embedding(n_phones, D_MODEL)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=D_MODEL ** -0.5)
        self.encoder = nn.ModuleList(Layer(False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Layer(True) for _ in range(LAYERS))
        self.register_buffer("pe", positions(MAX_LEN, D_MODEL),
                             persistent=False)
        self.drop = nn.Dropout(DROPOUT)

    def embed(self, table, ids):
        rows = table(ids) * math.sqrt(D_MODEL) + self.pe[:ids.shape[1]]
        return self.drop(rows)

    def encode(self, ids):
        """Rows of the last encoder layer, and which of them are tokens."""
        allowed = (ids != PAD)[:, None, None, :]
        x = self.embed(self.source, ids)
        for layer in self.encoder:
            x = layer(x, allowed)
        return x, allowed

    def decode(self, ids, memory, memory_allowed):
        """Logits after each target token."""
        n = ids.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        allowed = causal & (ids != PAD)[:, None, None, :]
        x = self.embed(self.target, ids)
        for layer in self.decoder:
            x = layer(x, allowed, memory, memory_allowed)
        return x @ self.target.weight.T


@torch.no_grad()
def search(net, data, words, beam):
    """Best outputs by the sum of log-probabilities, no length penalty; all
    hypotheses run to the end token or MAX_OUTPUT steps."""
    n = len(words)
    memory, allowed = (t.repeat_interleave(beam, 0)
                       for t in net.encode(data.sources(words)))
    ids = torch.full((n * beam, 1), START)
    score = torch.full((n, beam), NEVER)
    score[:, 0] = 0
    done = torch.zeros(n * beam, dtype=torch.bool)
    for _ in range(MAX_OUTPUT):
        step = net.decode(ids, memory, allowed)[:, -1].log_softmax(-1)
        step[:, [PAD, START]] = NEVER
        step[done] = NEVER
        step[done, END] = 0
        vocab = step.shape[1]
        total = score[:, :, None] + step.view(n, beam, vocab)
        score, best = total.view(n, -1).topk(beam)
        parent = torch.arange(n)[:, None] * beam + best // vocab
        parent, token = parent.view(-1), (best % vocab).view(-1)
        ids = torch.cat([ids[parent], token[:, None]], 1)
        done = done[parent] | (token == END)
        if done.all():
            break
    rows = ids.view(n, beam, -1)[:, 0].tolist()
    return [[data.phones[t] for t in row[1:] if t > END] for row in rows]


def edits(a, b):
    """Least number of insertions, deletions and changes from a to b."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(last[j + 1] + 1, row[j] + 1, last[j] + (x != y)))
    return row[-1]


def errors(net, data, words, beam=1):
    """Phoneme and word error in percent. A word counts against the nearest
    of its pronunciations (the first of equals), and by that one's length."""
    net.eval()
    changed = length = wrong = 0
    for i in range(0, len(words), BATCH):
        part = words[i:i + BATCH]
        for word, found in zip(part, search(net, data, part, beam)):
            near = min(data.prons[word], key=lambda p: edits(found, p))
            distance = edits(found, near)
            changed += distance
            length += len(near)
            wrong += distance > 0
    net.train()
    return 100 * changed / length, 100 * wrong / len(words)


def batches(words):
    """All words in random batches, each of words of about one length."""
    words = words[:]
    random.shuffle(words)
    pools = [sorted(words[i:i + BATCH * POOL], key=len)
             for i in range(0, len(words), BATCH * POOL)]
    cut = [pool[i:i + BATCH] for pool in pools
           for i in range(0, len(pool), BATCH)]
    random.shuffle(cut)
    return cut


def learning_rate(peak, step, progress):
    """Linear warm-up, then half a cosine over the time that is given."""
    fall = 0.5 * (1 + math.cos(math.pi * min(1, progress))) + 0.005
    return peak * min(1, step / WARMUP) * fall


def train_step(net, data, words, optimizer):
    target = data.targets(words)
    logits = net.decode(target[:, :-1], *net.encode(data.sources(words)))
    loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]),
                           target[:, 1:].reshape(-1), ignore_index=PAD,
                           label_smoothing=SMOOTHING)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return loss.item()


@torch.no_grad()
def follow(mean, net, weight):
    """Moves the averaged weights towards the present ones."""
    for a, b in zip(mean.parameters(), net.parameters()):
        a.lerp_(b, weight)


def train(net, mean, data, options):
    """Trains `net` until the time is over; `mean` follows it and is saved
    after each pass."""
    optimizer = torch.optim.Adam(net.parameters(), betas=(0.9, 0.98),
                                 eps=1e-9)
    begin, total = time.time(), options.minutes * 60
    step = passes = 0
    while time.time() - begin < total:
        passes += 1
        losses = []
        for words in batches(data.train):
            step += 1
            rate = learning_rate(options.lr, step,
                                 (time.time() - begin) / total)
            for group in optimizer.param_groups:
                group["lr"] = rate
            losses.append(train_step(net, data, words, optimizer))
            follow(mean, net, AVERAGE if step > 500 else 1.0)
            if time.time() - begin > total:
                break
        print(f"pass {passes} step {step} {time.time() - begin:.0f} s",
              f"loss {sum(losses) / len(losses):.3f}",
              "phoneme/word error", errors(mean, data, data.held[:1000]),
              flush=True)
        save_file(mean.state_dict(), options.out)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("minutes", type=float, nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--init")
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dict", default=DICTIONARY)
    parser.add_argument("--heldout")
    options = parser.parse_args()
    if options.heldout is None and options.out is None:
        parser.error("either MINUTES and OUT, or --heldout OUT")
    return options


def main():
    options = arguments()
    data = Dictionary(options.dict)
    if options.heldout:
        return data.write_held_out(options.heldout)
    torch.manual_seed(options.seed)
    random.seed(options.seed)
    net = Transformer(len(data.letters), len(data.phones))
    if options.init:
        net.load_state_dict(load_file(options.init))
    mean = Transformer(len(data.letters), len(data.phones))
    mean.load_state_dict(net.state_dict())
    print(len(data.train), "train", len(data.held), "held out",
          sum(p.numel() for p in net.parameters()), "parameters", flush=True)
    train(net, mean, data, options)
    for beam in (1, 4):
        print("held out, all, beam", beam,
              errors(mean, data, data.held, beam), flush=True)


if __name__ == "__main__":
    main()
