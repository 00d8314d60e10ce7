/* quantize_text.c: reads the text on which two variants of a model are
 * compared. */
#include "cli/run/answering.h"
#include "cli/command/quantize.h"

typedef struct {
    Passages *to;
    Source text;
    struct answering w;
    bool generates;
} Reading;

static int32_t *ids_of(Arena *a, const int32_t *from, int64_t n)
{
    int32_t *ids = arena_alloc(a, (size_t)(n + 1) * sizeof *ids);
    memcpy(ids, from, (size_t)n * sizeof *ids);
    return ids;
}

/* Sets one side of a sample to a sequence of n ids. */
static void set_side(Arena *a, Sample *x, int side, const int32_t *ids,
                     int64_t n)
{
    int32_t *start = arena_alloc(a, 2 * sizeof *start);
    start[1] = (int32_t)n;
    x->start[side] = start;
    x->ids[side] = ids;
}

/* Sets the ids that the decoder reads, all but the last, and the target
 * tokens. */
static void add_pair(Reading *r, Passage *p, const struct score_pair *x)
{
    Arena *a = r->to->arena;
    const Spec *s = r->w.e.spec;
    const int32_t *const source = (const int32_t *)r->w.p.items.at + x->at;
    const int32_t *const target = (const int32_t *)r->w.p.items.at + x->target;
    const int64_t prompt = s->kind == KindDecoder ? x->n : 0;
    const int64_t all = 1 + prompt + s->search_prefix.n + x->target_n;
    int32_t *ids = arena_alloc(a, (size_t)all * sizeof *ids);
    int64_t n = 0;
    if (s->token_start >= 0)
        ids[n++] = (int32_t)s->token_start;
    for (int64_t i = 0; i < prompt; i++)
        ids[n++] = source[i];
    for (int64_t i = 0; i < s->search_prefix.n; i++)
        ids[n++] = s->search_prefix.at[i];
    p->first = n - 1;
    for (int64_t i = 0; i < x->target_n - 1; i++)
        ids[n++] = target[i];
    p->target = ids_of(a, target, x->target_n);
    p->n = x->target_n;
    set_side(a, &p->sample, 1, ids, n);
    set_side(a, &p->sample, 0, ids_of(a, source, x->n),
             s->kind == KindDecoder ? 0 : x->n);
}

static bool add_source(Reading *r, Passage *p, const char *text, size_t n,
                       Fault *why)
{
    Arena *a = r->to->arena;
    const int64_t most = r->w.p.m->max_source;
    const int64_t rows = generate_question(&r->w.p, text, (int64_t)n);
    if (rows < 0)
        return fault(why, ExitInput, "%s", r->w.p.why);
    if (rows > most)
        return fault(why, ExitInput,
                     "the line has %lld tokens, the model takes %lld (max_len)",
                     (long long)rows, (long long)most);
    set_side(a, &p->sample, 0, ids_of(a, r->w.p.items.at, rows), rows);
    set_side(a, &p->sample, 1, NULL, 0);
    return rows > 0 || fault(why, ExitInput, "the line has no tokens");
}

static bool add_line(Reading *r, const char *text, size_t n, int64_t line,
                     Fault *why)
{
    Passage p = { .sample = { .sequences = 1 }, .line = line };
    struct score_pair x;
    if (n > ATTN_LINE)
        return fault(why, ExitInput,
                     "the line has %zu bytes, at most %d are read", n,
                     ATTN_LINE);
    if (r->generates && !generate_pair(&r->w.p, text, (int64_t)n, &x))
        return fault(why, ExitInput, "%s", r->w.p.why);
    if (r->generates)
        add_pair(r, &p, &x);
    else if (!add_source(r, &p, text, n, why))
        return false;
    vec_push(r->to->arena, &r->to->at, p);
    return true;
}

static int open_reading(Reading *r, const Engine *e, bool ids)
{
    const Spec *s = e->spec;
    r->generates = spec_generates(s);
    if (s->kind == KindAttention || s->input == InputReal) {
        error_at(spec_pos(s, s->kind == KindAttention ? "kind" : "input.type"),
                 "--text has text or ids: this model reads rows of numbers");
        return ExitInput;
    }
    answering_begin(&r->w, ids, false);
    answering_with(&r->w, e);
    return need_vocabularies(s, ids, false);
}

int passages_read(Passages *to, const Engine *e, const File *text, bool ids)
{
    Reading r = { .to = to };
    const char *at = (const char *)text->at, *const end = at + text->size;
    Fault why;
    int code = open_reading(&r, e, ids);
    r.text = (Source){ .name = text->path, .text = at, .size = text->size };
    at += file_mark(text);
    for (int line = 1; !code && at < end; line++) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        n -= eol && n > 0 && at[n - 1] == '\r';
        if (n > 0 && !add_line(&r, at, n, line, &why))
            error_at((Pos){ &r.text, line, 1 }, "%s", why.text);
        at = eol ? eol + 1 : end;
    }
    if (!code && error_count() > 0)
        code = ExitInput;
    if (!code && to->at.n == 0) {
        error_at((Pos){ 0 }, "%s: there is no line in it", quote(text->path));
        code = ExitInput;
    }
    generate_close(&r.w.p);
    return code;
}
