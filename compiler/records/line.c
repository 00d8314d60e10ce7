/* line.c: converts a record to a line of JSON and back.
 *
 * {"version": 2, "cpu": "...", "tile": {"mr": 6, ...}, ..., "hash": "16
 * digits"}
 *
 * The hash covers everything before `, "hash"`. The file may contain anything,
 * so each value is checked before it is used. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/json.h"
#include "records/records.h"

enum { Version = 2, Members = 16, MostThreads = 1 << 20 };
#define MOST_NS 1e18 /* nanoseconds of about thirty years */

/* ---- columns ---- */
#define MEMBER(kind, member, ...) COLUMN(kind, Record, member, __VA_ARGS__)
const RowColumn record_columns[] = {
    MEMBER(Text, host.cpu, "cpu"),
    MEMBER(Text, host.caches, "caches"),
    MEMBER(Text, host.isa, "isa"),
    MEMBER(Int, host.threads, "threads", .least = 1, .most = MostThreads),
    MEMBER(Text, host.compiler, "compiler"),
    MEMBER(Word, key.kind, "op", .n = TaskKinds, .words = task_word),
    MEMBER(Text, key.shape, "shape"),
    MEMBER(Word, key.dtype, "dtype", .n = Dtypes, .words = dtype_word),
    MEMBER(Text, key.epilogue, "epilogue"),
    MEMBER(Real, ns, "ns", .most = MOST_NS),
    MEMBER(Real, usual_ns, "usual_ns", .most = MOST_NS),
    MEMBER(Int, samples, "samples", .most = INT32_MAX),
    MEMBER(Real, spread, "spread", .most = MOST_NS),
};

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

static unsigned long long hash(const char *line, size_t n)
{
    return (unsigned long long)XXH3_64bits(line, n);
}

static char *line_of(Arena *a, const Record *r)
{
    const size_t flags = JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII;
    json_t *o = json_pack("{s:i}", "version", (int)Version);
    columns_write(o, record_columns, KeyColumns, r);
    json_object_set_new(o, "tile", tiling_json(&r->tiling));
    columns_write(o, record_columns + KeyColumns, TimeColumns, r);
    const size_t n = json_dumpb(o, NULL, 0, flags);
    char *text = arena_alloc(a, n + 1);
    json_dumpb(o, text, n, flags);
    json_decref(o);
    text[n - 1] = '\0'; /* removes the final brace */
    return arena_printf(a, "%s, \"hash\": \"%016llx\"}", text,
                        hash(text, n - 1));
}

/* ---- reading ---- */

/* Sets the parameter `name` of a tiling. Returns false if it is unknown or the
 * value is out of range. */
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

static bool tiling_read(Tiling *t, TaskKind kind, json_t *from)
{
    const char *name;
    json_t *value;
    bool ok = json_is_object(from);
    json_object_foreach(from, name, value)
        ok = ok && set_parameter(t, name, value);
    return ok && tiling_valid(t, kind);
}

/* Returns the arithmetic in the name of an epilogue, such as "dot_bias". */
static Arithmetic arithmetic_of(const char *epilogue)
{
    return !strncmp(epilogue, "dot2", 4) ? ArithmeticInt15
         : !strncmp(epilogue, "dot", 3)  ? ArithmeticInt8
         : !strncmp(epilogue, "dp", 2)   ? ArithmeticBf16Dp
         : !strncmp(epilogue, "amx", 3)  ? ArithmeticBf16Amx
         : !strncmp(epilogue, "x3", 2)   ? ArithmeticBf16x3
                                         : ArithmeticF32;
}

/* Returns the name of the first invalid member; NULL if all are valid. */
static const char *members(Arena *a, Record *r, const json_t *o)
{
    *r = (Record){ .samples = 0 };
    const char *bad = columns_parse(a, record_columns, KeyColumns, r, o);
    if (bad)
        return bad;
    r->key.arithmetic = arithmetic_of(r->key.epilogue);
    if (!tiling_read(&r->tiling, r->key.kind, json_object_get(o, "tile")))
        return "tile";
    return columns_parse(a, record_columns + KeyColumns, TimeColumns, r, o);
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
    const json_t *version = json_object_get(o, "version");
    if (!json_is_integer(version) || json_integer_value(version) != Version) {
        *why = "the line is of another version of attnc";
        return false;
    }
    const char *bad = members(a, to, o);
    *why = bad ? arena_printf(a, "\"%s\" is not as attnc writes it", bad)
               : "the line has members that attnc does not write";
    return !bad && json_object_size(o) == Members;
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
