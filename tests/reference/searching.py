"""The search for answers, as docs/spec-formulas.md has it."""
import math

DEFAULTS = {"rule": "exact", "penalty": "none", "alpha": 1, "patience": 1,
            "lead": (), "prefix": (), "min_length": 0, "min_total": 0,
            "suppress": (), "suppress_first": (), "no_repeat_ngram": 0,
            "repetition_penalty": 1, "processors": "logits"}


def normal(x):
    most = max(x)
    total = most + math.log(sum(math.exp(y - most) for y in x))
    return [y - total for y in x]


class Search:
    """`logits(ids)` has those of each token behind ids. `most` is the limit
    of the length, `never` are tokens that are not written, `lead` those that
    stand before an answer."""

    def __init__(self, logits, most, ends, never, **options):
        self.logits, self.most = logits, most
        self.ends, self.never = set(ends), set(never)
        self.o = {**DEFAULTS, **options}

    def penalty(self, length):
        kind, alpha = self.o["penalty"], self.o["alpha"]
        if kind == "none":
            return 1.0
        return (((5 + length) / 6) ** alpha if kind == "gnmt" else
                length ** alpha)

    def score(self, ids, log_p):
        """The length is that of the answer with its end token."""
        return log_p / self.penalty(len(ids)) if ids else 0.0

    def forbidden(self, ids, token):
        """Whether the options leave a token out: the others then have its
        probability."""
        o, behind = self.o, len(ids) - len(self.o["prefix"])
        new, n = (*self.o["lead"], *ids, token), self.o["no_repeat_ngram"]
        if token in self.ends and (len(ids) < o["min_length"] or
                                   len(new) <= o["min_total"]):
            return True
        if behind == 0 and token in o["suppress_first"]:
            return True
        if any(new[-len(words):] == tuple(words) for words in o["suppress"]):
            return True
        return n > 0 and any(new[i:i + n] == new[-n:]
                             for i in range(len(new) - n))

    def log_p(self, ids):
        x, by = list(self.logits(ids)), self.o["repetition_penalty"]
        if self.late:
            x = normal(x)
        for token in {*self.o["lead"], *ids}:
            x[token] = x[token] / by if x[token] > 0 else x[token] * by
        x = [-math.inf if self.forbidden(ids, token) else y
             for token, y in enumerate(x)]
        return x if self.late else normal(x)

    def expansions(self, ids, log_p):
        """Tokens that are never written keep their probability."""
        return [(log_p + more, (*ids, token))
                for token, more in enumerate(self.log_p(ids))
                if more > -math.inf and (token in self.ends or
                                         token not in self.never)]

    def ended(self, ids):
        return ids[-1] in self.ends or len(ids) >= self.most

    def run(self, beam, count):
        """The answers, the best first: score and ids, the end among them."""
        prefix = tuple(self.o["prefix"])
        open_, done, self.top_ended = [(0.0, prefix)], [], False
        self.late = beam > 1 and self.o["processors"] != "logits"
        while open_ and len(open_[0][1]) < self.most:
            found = sorted((e for log_p, ids in open_
                            for e in self.expansions(ids, log_p)),
                           key=lambda e: -e[0])
            found = found[:(len(self.ends) + 1) * beam]
            if not found:
                done += [(self.score(ids, p), ids) for p, ids in open_]
            first = len(open_[0][1]) == len(prefix) > 0
            open_ = self.step(found, beam, first, done)
            done.sort(key=lambda d: -d[0])
            if self.stops(open_, done, beam, count):
                break
        return done[:count]

    def step(self, found, beam, first, done):
        """Adds the answers of a step; returns what stays open."""
        recorded = self.o["rule"] == "recorded" or beam == 1
        open_, places = [], beam
        for rank, (log_p, ids) in enumerate(found):
            if not self.ended(ids):
                if len(open_) < places:
                    open_.append((log_p, ids))
            elif recorded and first and rank > 0 and ids[-1] in self.ends:
                places -= rank < beam
            elif not recorded or rank < beam:
                self.top_ended |= rank == 0
                done.append((self.score(ids, log_p), ids))
        return open_

    def stops(self, open_, done, beam, count):
        if beam == 1:
            return len(done) > 0
        if self.o["rule"] == "recorded":
            plain = self.o["penalty"] == "none" or self.o["alpha"] == 0
            if plain:
                return self.top_ended and len(done) >= count
            return len(done) >= int(beam * self.o["patience"] + 0.5)
        if len(done) < count or not open_:
            return False
        log_p, ids = open_[0]
        by = max(self.penalty(len(ids) + 1), self.penalty(self.most))
        return log_p / by <= done[count - 1][0]
