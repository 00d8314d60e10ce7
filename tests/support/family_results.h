/* family_results.h: compares a model with the cases of expected.json: logits or
 * rows within 1e-5 of their scale, and equal greedy tokens. Included after
 * oracle/trial.h, aot.h and expected.h. */
#ifndef ATTNC_TEST_FAMILY_RESULTS_H
#define ATTNC_TEST_FAMILY_RESULTS_H

enum { MostIds = 64 };

typedef struct { /* how a model is compiled */
    const char *backend, *level, *option;
} Way;

typedef struct { /* the input */
    int32_t ids[2][MostIds], types[MostIds], start[2][2];
    float *rows; /* of a model that reads numbers */
    Sample x;
} Input;

static inline void read_ids(Input *in, int side, const json_t *list)
{
    int64_t n = json_ids(list, in->ids[side], MostIds);
    in->start[side][1] = (int32_t)n;
    in->x.ids[side] = in->ids[side];
}

/* A class token has a row too, which is not compared. */
static inline void read_rows(Input *in, const Spec *s, const json_t *list)
{
    const int64_t n = (int64_t)json_array_size(list), all = n * s->input_width;
    const int64_t first = spec_input_learned(s) * s->input_width;
    double *x = arena_alloc(a, (size_t)all * sizeof *x);
    *in = (Input){ .x = { .sequences = 1,
                          .start = { in->start[0], in->start[1] } } };
    in->rows = arena_alloc(a, (size_t)(first + all) * sizeof *in->rows);
    assert_int_equal(json_numbers(list, x, all), all);
    for (int64_t i = 0; i < all; i++)
        in->rows[first + i] = (float)x[i];
    in->start[0][1] = (int32_t)(n + spec_input_learned(s));
    in->x.rows[0] = in->rows;
}

static inline void read_input(Input *in, const Spec *s, const json_t *c)
{
    const json_t *types = json_object_get(c, "types");
    *in = (Input){ .x = { .sequences = 1,
                          .start = { in->start[0], in->start[1] } } };
    if (json_object_get(c, "input")) {
        read_rows(in, s, json_object_get(c, "input"));
        if (json_object_get(c, "target"))
            read_ids(in, 1, json_object_get(c, "target"));
    } else if (json_object_get(c, "source")) {
        read_ids(in, 0, json_object_get(c, "source"));
        read_ids(in, 1, json_object_get(c, "target"));
    } else {
        read_ids(in, sample_side(s), json_object_get(c, "ids"));
    }
    if (types) {
        json_ids(types, in->types, MostIds);
        in->x.types = in->types;
    }
}

static inline const json_t *wanted(const json_t *c)
{
    const json_t *logits = json_object_get(c, "logits");
    return logits ? logits : json_object_get(c, "rows");
}

/* Returns the largest number in a list, or in its lists. */
static inline double largest(const json_t *list)
{
    double most = 0;
    size_t i;
    json_t *x;
    json_array_foreach(list, i, x)
        most = fmax(most,
                    json_is_array(x) ? largest(x) : fabs(json_number_value(x)));
    return most;
}

static inline void compare_case(Engine *e, const json_t *c, double scale)
{
    Input in;
    Trial trial = { 0 };
    read_input(&in, e->spec, c);
    int64_t n = result_rows(e->spec, &in.x) * result_columns(e->spec);
    float *out = arena_alloc(a, (size_t)n * sizeof *out);
    double *x = arena_alloc(a, (size_t)n * sizeof *x), worst = 0;
    assert_int_equal(json_numbers(wanted(c), x, n), n);
    trial_run(&trial, e, &in.x, 0, out);
    trial_free(&trial);
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(x[i] - (double)out[i]));
    if (!(worst <= 1e-5 * scale))
        fail_msg("%s: a case of %d ids differs by %.3g of %.3g",
                 e->options.backend, in.start[sample_side(e->spec)][1], worst,
                 scale);
}

/* Compares each case with a model of its max_len, usually that of the spec. */
static inline void compare_cases(const char *spec, const Way *way,
                                 json_t *cases)
{
    Engine e;
    int64_t now = 0;
    double scale = 0;
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c) scale = fmax(scale, largest(wanted(c)));
    json_array_foreach(cases, i, c)
    {
        int64_t max_len = json_integer_value(json_object_get(c, "max_len"));
        const char *set = arena_printf(a, "max_len=%d", (int)max_len);
        EngineOptions o = { .spec = spec,
                            .sets = &set,
                            .nsets = max_len > 0,
                            .backend = way->backend,
                            .level = way->level };
        if (i > 0 && max_len != now)
            engine_close(&e);
        if (i == 0 || max_len != now)
            assert_int_equal(engine_open(&e, &o), ExitDone);
        now = max_len;
        compare_case(&e, c, scale);
    }
    engine_close(&e);
}

static inline const char *ids_text(const json_t *list)
{
    const char *text = "";
    for (size_t i = 0; i < json_array_size(list); i++)
        text = arena_printf(a, "%s%s%d", text, i ? " " : "",
                            (int)json_integer_value(json_array_get(list, i)));
    return text;
}

/* Formats one row per line; an empty line ends a block. */
static inline const char *rows_text(const json_t *rows)
{
    const char *text = "";
    size_t i, k;
    json_t *row, *x;
    json_array_foreach(rows, i, row)
    {
        json_array_foreach(row, k, x)
            text = arena_printf(a, "%s%s%.9g", text, k ? " " : "",
                                json_number_value(x));
        text = arena_printf(a, "%s\n", text);
    }
    return text;
}

/* Compares the answer of attnc run, which uses the search of the spec. */
static inline void compare_greedy(const char *spec, const Way *way,
                                  const json_t *greedy)
{
    Spawned s;
    const char *backend = arena_printf(a, "--backend=%s", way->backend);
    const json_t *prompt = json_object_get(greedy, "prompt");
    const json_t *ids = json_object_get(greedy, "ids");
    if (!greedy)
        return;
    if (!prompt)
        prompt = json_object_get(greedy, "source");
    const json_t *rows = json_object_get(greedy, "input");
    const char *input = arena_printf(a, "%s\n",
                                     rows ? rows_text(rows) : ids_text(prompt));
    const char *n = arena_printf(a, "%d", (int)json_array_size(ids));
    if (RUN(&s, input, attnc(), "run", spec, "--ids", "--beam", "1",
            "--max-output", n, backend, way->option))
        fail_msg("%s", s.tail);
    assert_string_equal(s.out, arena_printf(a, "%s\n", ids_text(ids)));
}

#endif
