/* gbnf_check.c: compiles a grammar, and rejects one that matches no text, or
 * with a rule that begins with itself. */
#include "runtime/core.h"

#include <string.h>

ATTN_API void attn_gbnf_place(const char *text, int64_t at, int64_t *line,
                              int64_t *column)
{
    *line = 1;
    *column = 1;
    const int64_t mark = at >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    for (int64_t i = 3 * mark; i < at; i++) {
        *column += (text[i] & 0xc0) != 0x80;
        if (text[i] == '\n') {
            *line += 1;
            *column = 1;
        }
    }
}

static int gbnf_refuse(struct attn_gbnf *g, int64_t at, const char *why)
{
    g->why = why;
    g->at = at;
    return ATTN_ERROR_GRAMMAR;
}

enum {
    CHECK_EMPTY = 1, /* an op is reached before a byte is read */
    CHECK_ENDS = 2   /* an op is reached */
};

/* Lists the calls of each rule. */
static void check_calls(struct attn_gbnf *g)
{
    for (int64_t i = 0; i < g->rules; i++)
        g->rule[i].calls = -1;
    for (int64_t i = g->ops - 1; i >= 0; i--) {
        if (g->op[i].kind != ATTN_GBNF_CALL)
            continue;
        g->same[i] = g->rule[g->op[i].to].calls;
        g->rule[g->op[i].to].calls = (int32_t)i;
    }
}

/* Marks an op, and adds it to the n ops whose successors are to be marked.
 * Returns their new number. */
static int64_t check_mark(struct attn_gbnf *g, int64_t op, int how, int64_t n)
{
    if (g->mark[op] & how)
        return n;
    g->mark[op] |= (unsigned char)how;
    g->work[n] = (int32_t)op;
    return n + 1;
}

/* Marks what follows the end of a rule, which is reached for the first time. */
static int64_t check_return(struct attn_gbnf *g, struct attn_gbnf_rule *r,
                            int how, int64_t n)
{
    if (how == CHECK_ENDS)
        r->ends = 1;
    else
        r->empty = 1;
    for (int64_t i = r->calls; i >= 0; i = g->same[i])
        if (g->mark[i] & how)
            n = check_mark(g, i + 1, how, n);
    return n;
}

/* Marks the ops of all rules that are reached, and the rules whose end is. Each
 * op is visited once. */
static void check_reach(struct attn_gbnf *g, int how)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->rules; i++)
        n = check_mark(g, g->rule[i].start, how, n);
    while (n > 0) {
        n--;
        const int64_t i = g->work[n];
        const struct attn_gbnf_op *op = &g->op[i];
        int next = op->kind == ATTN_GBNF_SPLIT
                || (op->kind == ATTN_GBNF_BYTE && how == CHECK_ENDS);
        if (op->kind == ATTN_GBNF_CALL) {
            const struct attn_gbnf_rule *r = &g->rule[op->to];
            next = how == CHECK_ENDS ? r->ends : r->empty;
        }
        if (op->kind == ATTN_GBNF_SPLIT || op->kind == ATTN_GBNF_JUMP)
            n = check_mark(g, i + op->to, how, n);
        if (op->kind == ATTN_GBNF_RETURN)
            n = check_return(g, &g->rule[op->to], how, n);
        else if (next)
            n = check_mark(g, i + 1, how, n);
    }
}

/* True if op i calls a rule before a byte is read. */
static int check_begins(const struct attn_gbnf *g, int64_t i)
{
    return g->op[i].kind == ATTN_GBNF_CALL && (g->mark[i] & CHECK_EMPTY);
}

/* Returns the rule of an op. */
static int64_t check_owner(const struct attn_gbnf *g, int64_t op)
{
    int64_t lo = 0, hi = g->rules;
    while (hi - lo > 1) {
        const int64_t middle = (lo + hi) / 2;
        if (g->rule[middle].start <= op)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* Marks the rules that are not left-recursive: those that begin only with such
 * rules. `left` is the number of other rules with which each begins. */
static void check_clean(struct attn_gbnf *g, int32_t *left)
{
    int64_t n = 0;
    memset(left, 0, (size_t)g->rules * sizeof *left);
    for (int64_t i = 0, k = 0; i < g->ops; i++) {
        left[k] += check_begins(g, i);
        k += g->op[i].kind == ATTN_GBNF_RETURN;
    }
    for (int64_t i = 0; i < g->rules; i++)
        if (left[i] == 0) {
            g->work[n] = (int32_t)i;
            n++;
        }
    while (n > 0) {
        n--;
        struct attn_gbnf_rule *r = &g->rule[g->work[n]];
        r->clean = 1;
        for (int64_t i = r->calls; i >= 0; i = g->same[i]) {
            const int64_t owner = check_begins(g, i) ? check_owner(g, i) : -1;
            if (owner < 0)
                continue;
            left[owner]--;
            if (left[owner] == 0) {
                g->work[n] = (int32_t)owner;
                n++;
            }
        }
    }
}

/* Returns a rule in the circle to which a left-recursive rule leads. */
static int64_t check_circle(struct attn_gbnf *g, int64_t rule, int32_t *seen)
{
    memset(seen, 0, (size_t)g->rules * sizeof *seen);
    while (!seen[rule]) {
        int64_t i = g->rule[rule].start;
        seen[rule] = 1;
        while (!check_begins(g, i) || g->rule[g->op[i].to].clean)
            i++;
        rule = g->op[i].to;
    }
    return rule;
}

static int gbnf_check(struct attn_gbnf *g)
{
    int32_t *slot = g->rules > 0 ? attn_gbnf_find(g, "root", 4) : NULL;
    if (!slot || *slot == 0)
        return gbnf_refuse(g, 0, "the grammar has no rule root");
    g->root = *slot - 1;
    for (int64_t i = 0; i < g->rules; i++)
        g->rule[i].empty = g->rule[i].ends = g->rule[i].clean = 0;
    memset(g->mark, 0, (size_t)g->ops);
    check_calls(g);
    check_reach(g, CHECK_EMPTY);
    check_reach(g, CHECK_ENDS);
    check_clean(g, g->find); /* the names are not needed any more */
    for (int64_t i = 0; i < g->rules; i++)
        if (!g->rule[i].clean)
            return gbnf_refuse(g, g->rule[check_circle(g, i, g->find)].at,
                               "this rule begins with itself: write it with * "
                               "or +, or put itself at its end");
    for (int64_t i = 0; i < g->rules; i++)
        if (!g->rule[i].ends)
            return gbnf_refuse(g, g->rule[i].at,
                               "this rule never ends: each of its alternatives "
                               "contains itself");
    return 0;
}

ATTN_API int attn_gbnf_read(struct attn_gbnf *g, const char *text,
                            int64_t bytes, struct attn_memory *at)
{
    memset(g, 0, sizeof *g);
    g->text = text;
    g->bytes = bytes;
    if (bytes > ATTN_MOST)
        return gbnf_refuse(g, 0, "the grammar has more than 512 MiB");
    const int64_t valid = attn_utf8(text, bytes);
    if (valid < bytes)
        return gbnf_refuse(g, valid, "this byte is not UTF-8");
    const int wrong = attn_gbnf_parse(g, at);
    return wrong || !at->base ? wrong : gbnf_check(g);
}
