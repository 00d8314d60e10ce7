/* cmd_records.c: attnc records. Shows, merges, prunes, exports and explains the
 * records of attnc tune. */
#include <string.h>

#include "cli/options/options.h"

typedef struct {
    const Options *o;
    Arena *a;
    const char *path;          /* path of the tuning database; NULL: HOME is not
                                * set */
    Records r;                 /* the records that were read */
    Host here;                 /* this machine's CPU and caches */
    const char *target;        /* name of this machine's target */
    const char *compiler;      /* version of this machine's C compiler; NULL:
                                * not installed */
    int added, replaced, less; /* for `merge`: number of records added,
                                * replaced, and rejected because they are not
                                * better */
    int total, removed;        /* for `prune`: number of records in the file,
                                * and removed */
} Selection;

/* ---- choosing ---- */
static bool has(const char *text, const char *part)
{
    return !part || strstr(text, part);
}

/* True if --cpu, --compiler and --op match the record. */
static bool is_record_named(const Selection *w, const Record *r)
{
    return has(r->host.cpu, w->o->cpu) && has(r->host.compiler, w->o->compiler)
        && (w->o->op < 0 || (int)r->key.kind == w->o->op);
}

static bool any_named(const Options *o)
{
    return o->cpu || o->compiler || o->op >= 0;
}

static bool of_this_machine(const Selection *w, const Record *r)
{
    return host_same_machine(&r->host, &w->here);
}

/* True if the record's compiler is libtcc or this machine's C compiler, at any
 * -O level. */
static bool of_its_compilers(const Selection *w, const Record *r)
{
    const HostParts by = host_parts(w->a, &r->host);
    return by.jit
        || (by.level && w->compiler && !strcmp(by.version, w->compiler));
}

static int find_here(Selection *w)
{
    Target t;
    Fault why;
    if (!target_find(&t, "native", 0, NULL, &why))
        return report_fault(&why);
    w->here = host_here(w->a, &t, 1, "");
    w->target = t.name;
    const char *path = cc_find(w->a, w->o->code.cc, &why);
    if (!path && w->o->code.cc)
        return report_fault(&why);
    w->compiler = path ? cc_version(w->a, path, &why) : NULL;
    return ExitDone;
}

/* ---- reading ---- */
static bool read_one(Selection *w, const char *path, bool named, Fault *why)
{
    Records r;
    if (!(named ? records_named : records_read)(&r, w->a, path, why))
        return false;
    for (int i = 0; i < r.at.n; i++)
        vec_push(w->a, &w->r.at, r.at.at[i]);
    return true;
}

/* Reads the files that the operands name or, without operands, that of
 * --records or the user's own. */
static int read_files(Selection *w)
{
    const Texts *files = &w->o->files;
    Fault why;
    bool ok = files->n || w->path
           || fault(&why, ExitIO,
                    "there is no HOME to keep records in: give "
                    "a file by --records");
    if (ok && files->n == 0)
        ok = read_one(w, w->path, w->o->code.records, &why);
    for (int i = 0; ok && i < files->n; i++)
        ok = read_one(w, files->at[i], true, &why);
    return ok ? ExitDone : report_fault(&why);
}

static void keep_named(Selection *w, bool all_machines)
{
    int n = 0;
    for (int i = 0; i < w->r.at.n; i++) {
        const Record *r = &w->r.at.at[i];
        if (is_record_named(w, r) && (all_machines || of_this_machine(w, r)))
            w->r.at.at[n++] = *r;
    }
    w->r.at.n = n;
}

static void say_none(const Selection *w)
{
    if (w->r.at.n == 0)
        warning_at((Pos){ 0 }, "there are no such records: attnc tune "
                               "model.yaml makes some");
}

/* ---- actions ---- */
static int show_records(Selection *w)
{
    static void (*const print[])(const Records *r, FILE *out) = { records_table,
                                                                  records_json,
                                                                  records_csv };
    const int code = read_files(w);
    if (code)
        return code;
    keep_named(w, true);
    say_none(w);
    print[w->o->format](&w->r, stdout);
    return ExitDone;
}

static int export(Selection *w)
{
    Fault why;
    char *text = arena_printf(w->a, "%s", "");
    int code = read_files(w);
    if (!code)
        code = find_here(w);
    if (code)
        return code;
    keep_named(w, w->o->all);
    say_none(w);
    for (int i = 0; i < w->r.at.n; i++)
        text = arena_printf(w->a, "%s%s\n", text,
                            record_line(w->a, &w->r.at.at[i]));
    return write_file("-", text, strlen(text), &why) ? ExitDone
                                                     : report_fault(&why);
}

/* True if a has more samples than b, or the same number and a faster tiling. */
static bool better(const Record *a, const Record *b)
{
    return a->samples != b->samples ? a->samples > b->samples : a->ns < b->ns;
}

static void merge_in(Records *r, Arena *a, void *with)
{
    Selection *w = with;
    for (int i = 0; i < w->r.at.n; i++) {
        const Record *new = &w->r.at.at[i];
        const Record *old = records_find(r, new);
        const bool take = !old || better(new, old);
        w->added += !old;
        w->replaced += old && take;
        w->less += !take;
        if (take)
            records_put(r, a, new);
    }
}

static int merge(Selection *w)
{
    Fault why;
    if (w->o->files.n == 0)
        fail(ExitUsage, "attnc records merge takes files: attnc records merge "
                        "theirs.txt");
    const int code = read_files(w);
    if (code)
        return code;
    keep_named(w, true);
    if (!records_edit(w->a, w->path, merge_in, w, &why))
        return report_fault(&why);
    printf("%s: %d added, %d replaced, %d no better\n", quote(w->path),
           w->added, w->replaced, w->less);
    return ExitDone;
}

/* Removes the records that match --cpu, --compiler and --op. Without these
 * options, removes all records of other machines, compilers or versions. */
static void prune_from(Records *r, Arena *a, void *with)
{
    Selection *w = with;
    const bool named = any_named(w->o);
    int n = 0;
    (void)a;
    w->total = r->at.n + r->foreign.n;
    for (int i = 0; i < r->at.n; i++) {
        const Record *at = &r->at.at[i];
        if (named ? !is_record_named(w, at)
                  : of_this_machine(w, at) && of_its_compilers(w, at))
            r->at.at[n++] = *at;
    }
    r->at.n = n;
    if (!named)
        r->foreign.n = 0;
    w->removed = w->total - r->at.n - r->foreign.n;
}

static int prune(Selection *w)
{
    Fault why;
    const int code = find_here(w);
    bool ok = true;
    if (code)
        return code;
    if (w->o->files.n)
        fail(ExitUsage, "attnc records prune takes no file: give it by "
                        "--records");
    if (w->o->dry_run) {
        ok = records_read(&w->r, w->a, w->path, &why);
        prune_from(&w->r, w->a, w);
    } else {
        ok = records_edit(w->a, w->path, prune_from, w, &why);
    }
    if (!ok)
        return report_fault(&why);
    printf("%s: %d of %d records %s\n", w->path ? quote(w->path) : "no file",
           w->removed, w->total,
           w->o->dry_run ? "would be removed" : "removed");
    return ExitDone;
}

/* Measures the machine for half a second, then explains the records. */
static int explain(Selection *w)
{
    Machine m;
    const int code = read_files(w), here = code ? code : find_here(w);
    if (here)
        return here;
    keep_named(w, true);
    machine_find(&m);
    w->here.threads = w->o->code.threads > 0 ? (int)w->o->code.threads
                                             : m.cores;
    w->here.compiler = "libtcc";
    machine_measure(&m, NULL, w->here.threads, 0.5);
    records_explain(&w->r, &w->here, w->target, &m, stdout);
    return ExitDone;
}

int cmd_records(const Options *o)
{
    static int (*const actions[])(Selection *) = {
        [RecordsShow] = show_records, [RecordsMerge] = merge,
        [RecordsPrune] = prune,       [RecordsExport] = export,
        [RecordsExplain] = explain,
    };
    Arena *a = arena_new();
    Selection w = { .o = o,
                    .a = a,
                    .path = records_path(a, records_option(&o->code)) };
    const int code = actions[o->action](&w);
    arena_free(a);
    return code;
}
