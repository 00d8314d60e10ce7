/* line.c: converts a record to a line of JSON and back.
 *
 * {"version": 2, "cpu": "...", "tile": {"mr": 6, ...}, ..., "hash": "16
 * digits"}
 *
 * The hash covers everything before `, "hash"`. The file may contain anything,
 * so each value is checked before use. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/json.h"
#include "records/records.h"

enum { Version = 2, Members = 16, TextMost = 4096, MostThreads = 1 << 20 };
#define MOST_NS 1e18             /* nanoseconds of about thirty years */

/* ---- writing ---- */
json_t *tiling_json(const Tiling *t)
{
    json_t *o = json_object();
    for (int i = 0; i < TilingParameters; i++)
        if (tiling_get(t, i))
            json_object_set_new(o, tiling_parameters[i].name,
                                json_integer(tiling_get(t, i)));
    return o;
}

static json_t *record_object(const Record *r)
{
    const Host *h = &r->host;
    return json_pack("{s:i,s:s,s:s,s:s,s:i,s:s,s:s,s:s,s:s,s:s,s:o,s:f,s:f,"
                     "s:i,s:f}",
                     "version", (int)Version, "cpu", h->cpu, "caches",
                     h->caches, "isa", h->isa, "threads", h->threads,
                     "compiler", h->compiler, "op", task_word[r->key.kind],
                     "shape", r->key.shape, "dtype", dtype_word[r->key.dtype],
                     "epilogue", r->key.epilogue, "tile",
                     tiling_json(&r->tiling), "ns", r->ns, "usual_ns",
                     r->usual_ns, "samples", r->samples, "spread", r->spread);
}

static unsigned long long hash(const char *line, size_t n)
{
    return (unsigned long long)XXH3_64bits(line, n);
}

static char *line_of(Arena *a, const Record *r)
{
    const size_t flags = JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII;
    json_t *o = record_object(r);
    if (!o)
        die("a record of values that JSON does not have");
    const size_t n = json_dumpb(o, NULL, 0, flags);
    char *text = arena_alloc(a, n + 1);
    json_dumpb(o, text, n, flags);
    json_decref(o);
    text[n - 1] = '\0'; /* remove the final brace */
    return arena_printf(a, "%s, \"hash\": \"%016llx\"}", text,
                        hash(text, n - 1));
}

/* ---- reading ---- */
typedef struct {
    Arena *arena;
    const json_t *object;
    const char *bad; /* name of the first invalid member; NULL: none */
} LineReader;

static const char *text_of(LineReader *m, const char *key)
{
    const json_t *value = json_object_get(m->object, key);
    const size_t n = json_string_length(value);
    const char *text = json_string_value(value);
    bool ok = text && n <= TextMost;
    for (size_t i = 0; ok && i < n; i++)
        ok = text[i] >= ' ' && text[i] <= '~';
    if (ok)
        return arena_strndup(m->arena, text, n);
    m->bad = m->bad ? m->bad : key;
    return "";
}

static int64_t int_of(LineReader *m, const char *key, int64_t least,
                      int64_t most)
{
    const json_t *value = json_object_get(m->object, key);
    const int64_t i = json_integer_value(value);
    if (json_is_integer(value) && i >= least && i <= most)
        return i;
    m->bad = m->bad ? m->bad : key;
    return least;
}

static double real_of(LineReader *m, const char *key)
{
    const json_t *value = json_object_get(m->object, key);
    const double x = json_number_value(value);
    if (json_is_number(value) && x >= 0 && x <= MOST_NS)
        return x;
    m->bad = m->bad ? m->bad : key;
    return 1;
}

static int word_of(LineReader *m, const char *key, const char *const *words,
                   int n)
{
    const char *text = text_of(m, key);
    for (int i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    m->bad = m->bad ? m->bad : key;
    return 0;
}

/* Sets the named parameter of a tiling. Returns false if the parameter is
 * unknown or its value out of range. */
static bool set_parameter(Tiling *t, const char *name, const json_t *value)
{
    for (int i = 0; i < TilingParameters; i++) {
        const json_int_t x = json_integer_value(value);
        if (strcmp(name, tiling_parameters[i].name) != 0)
            continue;
        if (!json_is_integer(value) || x < 1 || x > tiling_parameters[i].most)
            return false;
        tiling_set(t, i, (int32_t)x);
        return true;
    }
    return false;
}

static Tiling tiling_of(LineReader *m, TaskKind kind)
{
    json_t *tile = json_object_get(m->object, "tile"), *value;
    const char *name;
    Tiling t = { 0 };
    bool ok = json_is_object(tile);
    json_object_foreach(tile, name, value)
        ok = ok && set_parameter(&t, name, value);
    if ((!ok || !tiling_valid(&t, kind)) && !m->bad)
        m->bad = "tile";
    return t;
}

/* Returns the arithmetic that the name of an epilogue contains, such as
 * "dot_bias". */
static Arithmetic arithmetic_of(const char *epilogue)
{
    return !strncmp(epilogue, "dot2", 4) ? ArithmeticInt15
         : !strncmp(epilogue, "dot", 3)  ? ArithmeticInt8
                                         : ArithmeticF32;
}

static Record members(LineReader *m)
{
    Record r = {
        .host = { .cpu = text_of(m, "cpu"),
                  .caches = text_of(m, "caches"),
                  .isa = text_of(m, "isa"),
                  .threads = (int)int_of(m, "threads", 1, MostThreads),
                  .compiler = text_of(m, "compiler") },
        .key = { .kind = (TaskKind)word_of(m, "op", task_word, TaskKinds),
                 .shape = text_of(m, "shape"),
                 .dtype = (Dtype)word_of(m, "dtype", dtype_word, Dtypes),
                 .epilogue = text_of(m, "epilogue") },
        .ns = real_of(m, "ns"),
        .usual_ns = real_of(m, "usual_ns"),
        .samples = (int)int_of(m, "samples", 0, INT32_MAX),
        .spread = real_of(m, "spread"),
    };
    r.tiling = tiling_of(m, r.key.kind);
    r.key.arithmetic = arithmetic_of(r.key.epilogue);
    return r;
}

/* Returns true if the line ends with the correct hash of the text before it. */
static bool is_whole(const char *line, size_t n)
{
    char end[40];
    const size_t tail = (size_t)snprintf(end, sizeof end,
                                         ", \"hash\": \"%016llx\"}", 0ULL);
    if (n < tail)
        return false;
    snprintf(end, sizeof end, ", \"hash\": \"%016llx\"}", hash(line, n - tail));
    return memcmp(line + n - tail, end, tail) == 0;
}

static bool understood(Record *to, Arena *a, const json_t *o, const char **why)
{
    LineReader m = { .arena = a, .object = o };
    const json_t *version = json_object_get(o, "version");
    if (!json_is_integer(version) || json_integer_value(version) != Version) {
        *why = "the line is of another version of attnc";
        return false;
    }
    *to = members(&m);
    *why = m.bad ? arena_printf(a, "\"%s\" is not as attnc writes it", m.bad)
                 : "the line has members that attnc does not write";
    return !m.bad && json_object_size(o) == Members;
}

LineKind record_parse(Record *to, Arena *a, const char *line, size_t n,
                      const char **why)
{
    json_error_t error;
    *why = n > LineMost ? "the line is longer than any that attnc writes"
                        : "the line was cut or changed";
    if (n > LineMost || memchr(line, '\0', n) || !is_whole(line, n))
        return LineBroken;
    json_t *o;
    Fault memory;
    const JsonText json = { "a record", line, n, false, false };
    if (!json_read(&o, &json, &error, &memory))
        fail(memory.code, "%s", memory.text);
    *why = "the line is not JSON";
    const LineKind kind = o && understood(to, a, o, why) ? LineRecord
                                                         : LineForeign;
    json_decref(o);
    return kind;
}

char *record_line(Arena *a, const Record *r)
{
    Record unused;
    const char *why;
    char *line = line_of(a, r);
    if (record_parse(&unused, a, line, strlen(line), &why) != LineRecord)
        die("a record that attnc would not read: %s", why);
    return line;
}
