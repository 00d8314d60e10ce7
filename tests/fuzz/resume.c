/* resume.c: fuzzes a file of `attnc sweep --resume`: reads it, reports it in
 * every form, and writes it again. The input is the file. If its first line is
 * an object, that has the members that differ from this sweep's header: `{}` is
 * the header itself. An `@` is a list of loads. */
#define _GNU_SOURCE /* memfd_create, open_memstream */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sweep/sweep_parts.h"
#include "fuzz.h"

/* ---- sweep ---- */
static const char *const specs[] = { "a.yaml", "b,\"c\".yaml" };
static const char *const vary[] = { "h=1,2", "N=4" };
static Machine machine;

static SweepOptions options_of(const char *path)
{
    return (SweepOptions){ .specs = specs,
                           .nspecs = 2,
                           .vary = vary,
                           .nvary = 2,
                           .resume = path,
                           .model = { .threads = 1, .seed = 1 },
                           .work = { .steps = -1, .beam = 1 } };
}

/* Three variants that can be planned, to search and to encode, and one that is
 * rejected. */
static void add_rows(Sweep *s)
{
    for (int i = 0; i < s->variants.n; i++) {
        Row r = { .variant = &s->variants.at[i],
                  .state = i == 3 ? RowRefused : RowPlanned,
                  .code = ExitInput,
                  .message = "h, \"too\" large",
                  .hash = i == 1 ? NULL : "00ff",
                  .host = "C",
                  .parameters = 1e6 * (i + 1),
                  .flops = 1e7,
                  .weights = 4e6,
                  .memory = 5e6 };
        for (int k = 0; k < WorkKinds; k++)
            r.work[k] = (RowWork){ .there = i < 2 || k == WorkEncode,
                                   .tokens = 16,
                                   .estimate = 1e-3,
                                   .limit = NAN };
        vec_push(s->arena, &s->rows, r);
    }
}

static Sweep new_sweep(Arena *a, const SweepOptions *o)
{
    Sweep s = { .options = o,
                .arena = a,
                .machine = &machine,
                .threads = 1,
                .times = true,
                .drawn_axis = -1,
                .kept = -1 };
    axes_read(a, o, &s.axes);
    grid_make(a, o, &s.axes, &s.variants);
    columns_read(a, columns_default(true, false), "--columns", &s.columns,
                 &s.fields);
    columns_read(a, "missed,error", "--columns", &s.columns, &s.fields);
    columns_read(a, "latency", "--sort", &s.sort, &s.fields);
    columns_read(a, "parameters,latency", "--front", &s.pareto, &s.fields);
    add_rows(&s);
    return s;
}

/* ---- file ---- */

/* Makes a file in memory with this text; sets `path`. */
static int new_file(char path[32], const void *text, size_t n)
{
    const int fd = memfd_create("rows", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        fuzz_wrong("no file in memory");
    sprintf(path, "/proc/self/fd/%d", fd);
    return fd;
}

/* Returns the first line that this sweep writes. */
static json_t *new_header(void)
{
    char path[32], text[8192];
    const int fd = new_file(path, "", 0);
    const SweepOptions o = options_of(path);
    Arena *a = arena_new();
    Sweep s = new_sweep(a, &o);
    keep_open(&s);
    const ssize_t n = pread(fd, text, sizeof text, 0);
    json_t *header = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
    if (!header)
        fuzz_wrong("the header is no JSON");
    close(fd);
    arena_free(a);
    return header;
}

/* Returns the header with members replaced by those of `other`. */
static char *header_with(json_t *other)
{
    static json_t *usual;
    const char *key;
    json_t *value;
    if (!usual)
        usual = new_header();
    json_t *header = json_deep_copy(usual);
    json_object_foreach(other, key, value)
    {
        json_t *old = json_object_get(header, key);
        if (json_is_object(old) && json_is_object(value))
            json_object_update(old, value);
        else
            json_object_set(header, key, value);
    }
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    return text;
}

/* Writes the loads of a workload: the number that a row has. */
static int put_loads(char *to)
{
    int n = sprintf(to, "[1.0");
    for (int i = 1; i < Loads; i++)
        n += sprintf(to + n, ",0.5");
    return n + sprintf(to + n, "]");
}

enum { LoadsBytes = 4 * Loads + 8 };

/* Each @ is replaced by such a list. */
static size_t put_lines(char *to, const uint8_t *from, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++)
        if (from[i] == '@')
            n += (size_t)put_loads(to + n);
        else
            to[n++] = (char)from[i];
    return n;
}

static size_t lines_bytes(const uint8_t *from, size_t size)
{
    size_t n = size;
    for (size_t i = 0; i < size; i++)
        n += from[i] == '@' ? LoadsBytes : 0;
    return n;
}

/* The file's text, malloc'd. */
static char *sealed(const uint8_t *data, size_t size, size_t *n)
{
    const uint8_t *stop = memchr(data, '\n', size);
    const size_t first = stop ? (size_t)(stop - data) : size;
    json_t *other = json_loadb((const char *)data, first, 0, NULL);
    char *head = json_is_object(other) ? header_with(other) : NULL;
    const size_t cut = head ? first : 0, begin = head ? strlen(head) : 0;
    char *text = malloc(begin + lines_bytes(data, size) + 1);
    if (head)
        memcpy(text, head, begin);
    *n = begin + put_lines(text + begin, data + cut, size - cut);
    free(head);
    json_decref(other);
    return text;
}

/* ---- read ---- */
typedef struct {
    Arena *a;
    const char *path, *again;
    bool reports;
    Sweep sweep;
} FuzzCase;

static void read_rows(Sweep *s)
{
    keep_open(s);
    keep_take(s);
}

/* True if they are equal, or both unknown. */
static bool same_number(double x, double y)
{
    return isnan(x) ? isnan(y) : !(x < y) && !(x > y);
}

static void compare_work(const RowWork *x, const RowWork *y)
{
    bool same = x->there == y->there && x->times.n == y->times.n
             && same_number(x->tokens, y->tokens)
             && same_number(x->estimate, y->estimate)
             && same_number(x->limit, y->limit) && x->bound == y->bound;
    for (int i = 0; same && i < x->times.n; i++)
        same = same_number(x->times.at[i], y->times.at[i]);
    for (int i = 0; same && i < Loads; i++)
        same = same_number(x->load[i], y->load[i]);
    if (!same)
        fuzz_wrong("a row is written, and read as another");
}

/* Checks that each row, written and read again, is unchanged. */
static void write_again(FuzzCase *c)
{
    const SweepOptions o = options_of(c->again);
    const Sweep *s = &c->sweep;
    Arena *writer = arena_new(); /* has the file's lock until it is freed */
    Sweep other = new_sweep(writer, &o);
    keep_open(&other);
    for (int i = 0; i < s->rows.n; i++)
        keep_row(&other, &s->rows.at[i]);
    arena_free(writer);
    other = new_sweep(c->a, &o);
    read_rows(&other);
    for (int i = 0; i < s->rows.n; i++)
        for (int k = 0; k < WorkKinds; k++)
            if (s->rows.at[i].state == RowTimed)
                compare_work(&s->rows.at[i].work[k], &other.rows.at[i].work[k]);
}

static void report(Sweep *s, void print(const Sweep *s, FILE *out), bool json)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    print(s, out);
    fclose(out);
    json_t *read = json ? json_loadb(text, n, 0, NULL) : NULL;
    if (json && !read)
        fuzz_wrong("a report that is no JSON");
    json_decref(read);
    free(text);
}

static int run(void *with)
{
    FuzzCase *c = with;
    Sweep *s = &c->sweep;
    const SweepOptions o = options_of(c->path);
    c->a = arena_new(); /* freed with the job */
    *s = new_sweep(c->a, &o);
    read_rows(s);
    front_mark(s);
    if (c->reports) {
        report(s, sweep_csv, false);
        report(s, sweep_json, true);
        report(s, sweep_print, false);
        draw_sweep(s);
    }
    write_again(c);
    arena_free(c->a);
    return ExitDone;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32], again[32];
    size_t n;
    char *text = sealed(data, size, &n);
    const int fd = new_file(path, text, n), to = new_file(again, "", 0);
    FuzzCase c = { .path = path, .again = again, .reports = size % 8 == 0 };
    fuzz_run(run, &c);
    close(fd);
    close(to);
    free(text);
    return 0;
}

/* ---- mutator ---- */
static const char usual[] =
    "{\"spec\":\"a.yaml\",\"values\":[\"1\",\"4\"],\"row\":{\"hash\":\"00ff\","
    "\"host\":\"C\",\"parameters\":2,\"flops\":2.5,\"weights\":4,\"memory\":9,"
    "\"note\":null,\"fields\":[]";
static const char usual_work[] =
    "{\"cost\":{\"flops\":2.0,\"weights\":4.0,\"cached\":0.0,\"values\":2.0,"
    "\"written\":1.0},\"tokens\":16.0,\"estimate\":null,\"limit\":0.001,"
    "\"bound\":1,\"results\":\"ab\",\"times\":[2000000,2100000,1900000],"
    "\"load\":@}";

/* Returns the line of a variant, with some or all kinds of work. */
static size_t add_line(uint8_t *data, size_t size, size_t most, FuzzDice *d)
{
    char line[4096];
    int n = sprintf(line, "\n%s", usual);
    const uint32_t kinds = fuzz_dice(d, 2) ? 15 : fuzz_dice(d, 16);
    for (int k = 0; k < WorkKinds; k++)
        if (kinds >> k & 1)
            n += sprintf(line + n, ",\"%s\":%s", work_word[k], usual_work);
    n += sprintf(line + n, "}}\n");
    if (size + (size_t)n > most)
        return size;
    memcpy(data + size, line, (size_t)n);
    return size + (size_t)n;
}

/* Returns a value that a member may have, or an invalid one. */
static void some_value(char *to, size_t room, FuzzDice *d)
{
    static const char *const words[] = {
        "null",        "true",        "{}",    "[]",
        "\"\"",        "\"a.yaml\"",  "\"2\"", "\"00ff\"",
        "1e308",       "1e19",        "-0.0",  "1e-300",
        "\"\\u00e9\"", "\"\\u0001\"", "[1,5]", "[\"2\",\"4\"]"
    };
    const uint32_t n = sizeof words / sizeof *words, i = fuzz_dice(d, 2 * n);
    if (i < n)
        snprintf(to, room, "%s", words[i]);
    else
        snprintf(to, room, i % 2 ? "%lld" : "%lld.5",
                 (long long)fuzz_number(d));
}

/* Replaces the value after a random colon, comma or bracket. */
static size_t change_value(uint8_t *data, size_t size, size_t most, FuzzDice *d)
{
    char text[64];
    size_t at = fuzz_dice(d, (uint32_t)size);
    while (at < size && !strchr(":,[", data[at]))
        at++;
    if (++at >= size)
        return size;
    size_t end = at;
    while (end < size && !memchr(",]}\n", data[end], 4))
        end++;
    some_value(text, sizeof text, d);
    const size_t n = strlen(text);
    if (size - (end - at) + n > most)
        return size;
    memmove(data + at + n, data + end, size - end);
    memcpy(data + at, text, n);
    return size - (end - at) + n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 16);
    if (size == 0 && most >= 2) {
        memcpy(data, "{}", 2);
        return 2;
    }
    if (what < 3)
        return LLVMFuzzerMutate(data, size, most);
    if (what < 5)
        return add_line(data, size, most, &d);
    return change_value(data, size, most, &d);
}
