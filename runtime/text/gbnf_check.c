/* gbnf_check.c: compiles a grammar, and rejects one that matches no text, or
 * with a rule that begins with itself. */
#include "runtime/core.h"

#include <string.h>

ATTN_API void attn_gbnf_place(const char *text, int64_t at, int64_t *line,
                              int64_t *column)
{
    *line = 1;
    *column = 1;
    for (int64_t i = 0; i < at; i++) {
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

/* Marks the ops of a rule that are reached before a byte is read, or, if
 * `reads`, those reached at all. Returns 1 if its end is one of them. A jump
 * back leads only to ops that are marked already. */
static int gbnf_reach(struct attn_gbnf *g, const struct attn_gbnf_rule *r,
                      int reads)
{
    int64_t i = r->start;
    for (int64_t k = i; g->op[k].kind != ATTN_GBNF_RETURN; k++)
        g->mark[k + 1] = 0;
    g->mark[i] = 1;
    for (;; i++) {
        const struct attn_gbnf_op *op = &g->op[i];
        int next = reads;
        if (op->kind == ATTN_GBNF_RETURN)
            return g->mark[i];
        if (!g->mark[i])
            continue;
        if (op->kind == ATTN_GBNF_CALL)
            next = reads ? g->rule[op->to].ends : g->rule[op->to].empty;
        else if (op->kind != ATTN_GBNF_BYTE)
            g->mark[i + op->to] = 1;
        if (op->kind == ATTN_GBNF_SPLIT || (op->kind != ATTN_GBNF_JUMP && next))
            g->mark[i + 1] = 1;
    }
}

/* True if all rules with which a rule may begin are clean. If not, sets *next
 * to the first that is not. */
static int gbnf_clean(struct attn_gbnf *g, const struct attn_gbnf_rule *r,
                      int64_t *next)
{
    gbnf_reach(g, r, 0);
    for (int64_t i = r->start; g->op[i].kind != ATTN_GBNF_RETURN; i++) {
        const struct attn_gbnf_op *op = &g->op[i];
        if (op->kind == ATTN_GBNF_CALL && g->mark[i]
            && !g->rule[op->to].clean) {
            *next = op->to;
            return 0;
        }
    }
    return 1;
}

/* Sets what is known of the rules, until nothing more is. */
static void gbnf_facts(struct attn_gbnf *g)
{
    int changed = 1;
    int64_t next;
    while (changed) {
        changed = 0;
        for (int64_t i = g->rules - 1; i >= 0; i--) {
            struct attn_gbnf_rule *r = &g->rule[i];
            const unsigned char empty = r->empty, ends = r->ends;
            r->empty = (unsigned char)gbnf_reach(g, r, 0);
            r->ends = (unsigned char)gbnf_reach(g, r, 1);
            changed |= r->empty != empty || r->ends != ends;
        }
    }
    for (changed = 1; changed;) {
        changed = 0;
        for (int64_t i = g->rules - 1; i >= 0; i--) {
            struct attn_gbnf_rule *r = &g->rule[i];
            if (r->clean || !gbnf_clean(g, r, &next))
                continue;
            r->clean = 1;
            changed = 1;
        }
    }
}

static int gbnf_check(struct attn_gbnf *g)
{
    g->root = -1;
    for (int64_t i = 0; i < g->rules; i++) {
        struct attn_gbnf_rule *r = &g->rule[i];
        r->empty = r->ends = r->clean = 0;
        if (r->bytes == 4 && memcmp(g->text + r->at, "root", 4) == 0)
            g->root = i;
    }
    if (g->root < 0)
        return gbnf_refuse(g, 0, "the grammar has no rule root");
    gbnf_facts(g);
    for (int64_t i = 0; i < g->rules; i++) {
        int64_t in = i, next = i;
        if (g->rule[i].clean)
            continue;
        for (int64_t k = 0; k < g->rules; k++) { /* into the circle */
            gbnf_clean(g, &g->rule[in], &next);
            in = next;
        }
        return gbnf_refuse(g, g->rule[in].at,
                           "this rule begins with itself: write it with * or "
                           "+, or put itself at its end");
    }
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
