/* library_attention.c: the attention weights of a text, computed and drawn by
 * the code of attnc run --attention. The model is compiled a second time for
 * it, without fusion, because fused attention stores no weights. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <stdlib.h>

#include "cli/run/attention_run.h"
#include "library/library.h"

typedef struct {
    struct attnc_maps maps; /* what the caller sees */
    Arena *arena;           /* owns all of this */
    AttentionPicture picture;
    const char *svg; /* NULL: not drawn yet */
} Maps;

typedef struct {
    const Call *call;
    attnc_model *m;
    const char *text;
    AttentionRun r;
    Maps *out;
    char *answer; /* what the model wrote */
    size_t answer_bytes;
} Attending;

/* ---- engine ---- */
static void open_unfused(void *with)
{
    attnc_model *m = ((const Attending *)with)->m;
    if (m->attends)
        return;
    EngineOptions options = attention_engine(m->options);
    library_weights(m, &options);
    const int code = engine_open(&m->unfused, &options);
    if (code)
        end_attempt(code);
    library_check_files(m, &m->unfused);
    m->unfused.to_keep = false; /* as in open_model() */
    m->attends = true;
}

/* ---- maps ---- */
static bool attends(const Option *row)
{
    static const char *const more[] = { "--layer", "--head", "--query",
                                        "--ids",   "-n",     "--seed" };
    bool is = OPTION_IN(row, search);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        is |= option_is(row, more[i]);
    return is;
}

static void copy_maps(Arena *a, Maps *x)
{
    const AttentionPicture *p = &x->picture;
    struct attnc_map *map = arena_alloc(a, (size_t)(p->maps + 1) * sizeof *map);
    for (int i = 0; i < p->maps; i++) {
        const AttentionMap *from = &p->map[i];
        map[i] = (struct attnc_map){
            .name = from->name,
            .layer = from->layer,
            .query_side = from->side[0],
            .key_side = from->side[1],
            .heads = from->heads,
            .queries = p->n[from->side[0]],
            .keys = p->n[from->side[1]],
            .weights = from->weight,
        };
    }
    x->maps.map = map;
    x->maps.maps = p->maps;
    for (int i = 0; i < 2; i++) {
        x->maps.tokens[i] = p->n[i];
        x->maps.token[i] = p->label[i];
    }
}

static void attend(void *with)
{
    Attending *w = with;
    AttentionRun *r = &w->r;
    Arena *a = arena_new();
    EngineOptions of_trial; /* its spec may differ, as by `fix` */
    Options *o = library_options(a, NthRun, w->call->options);
    library_weights(w->m, &of_trial);
    library_takes(o, NthRun, attends, "attnc_attention()");
    o->prompt = w->text;
    o->attention = "weights.json";
    r->o = o;
    int code = attention_check_options(o);
    if (code)
        end_attempt(code);
    answering_run(&r->w, o);
    answering_with(&r->w, &w->m->unfused);
    r->w.e.arena = a; /* for what is made in this call */
    r->to = open_memstream(&w->answer, &w->answer_bytes);
    if (!r->to)
        fail(ExitResource, "out of memory");
    code = attention_read(r);
    if (!code)
        code = attention_compute(r);
    if (code || fflush(r->to) != 0)
        end_attempt(code ? code : ExitResource);
    Maps *x = arena_alloc(a, sizeof *x);
    *x = (Maps){ .arena = a, .picture = attention_picture(r) };
    copy_maps(a, x);
    if (w->answer_bytes > 0) /* without its line feed */
        x->maps.answer = arena_strndup(a, w->answer, w->answer_bytes - 1);
    w->out = x;
}

/* Frees what an attempt leaves outside of its arenas. */
static void attend_and_end(void *with)
{
    Attending *w = with;
    const int code = attempt(attend, w);
    if (code && w->r.trial.any) /* its arena ended with the attempt */
        *w->r.trial.any = (Engine){ 0 };
    attention_end(&w->r);
    if (w->r.to)
        fclose(w->r.to);
    free(w->answer);
    if (code)
        end_attempt(code);
}

int attnc_attention(const struct attnc_maps **out, attnc_model *m,
                    const char *text, const char *const *options,
                    attnc_tell *tell, void *user)
{
    const Call c = { m->facts.name, NULL, options, tell, user, NULL };
    Attending w = { .call = &c, .m = m, .text = text ? text : "" };
    *out = NULL;
    int code = library_call(&c, open_unfused, &w);
    if (!code)
        code = library_call(&c, attend_and_end, &w);
    if (!code)
        *out = &w.out->maps;
    return code;
}

/* ---- picture ---- */
static void draw(void *with)
{
    Maps *x = with;
    Arena *a = arena_new();
    int64_t cells = 0;
    for (int i = 0; i < x->picture.maps; i++)
        cells += attention_cells(&x->picture, &x->picture.map[i]);
    if (cells > AttentionCells)
        fail(ExitUsage,
             "%lld weights are too many to see: choose by --layer, --head, "
             "--query",
             (long long)cells);
    const char *svg = draw_attention(a, &x->picture);
    arena_owns_arena(x->arena, a);
    x->svg = svg;
}

int attnc_maps_svg(const struct attnc_maps *maps, const char **svg,
                   attnc_tell *tell, void *user)
{
    Maps *x = (Maps *)(uintptr_t)maps;
    const Call c = { "the picture", NULL, NULL, tell, user, NULL };
    const int code = x->svg ? ATTNC_DONE : library_call(&c, draw, x);
    *svg = x->svg;
    return code;
}

void attnc_maps_free(const struct attnc_maps *maps)
{
    if (maps)
        arena_free(((const Maps *)(uintptr_t)maps)->arena);
}
