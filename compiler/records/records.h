/* records.h: the tilings that `attnc tune` found, kept in a file.
 *
 * $XDG_CACHE_HOME/attnc/tune.txt has one JSON object per line. A line holds for
 * one machine, compiler and number of threads, and carries a hash of itself.
 * Lines that are damaged or of another version are skipped with one warning.
 * The file is replaced atomically under a lock: readers see the old or the new
 * one.
 *
 * In:  a file of records; a host, the tasks of a plan.
 * Out: the tilings that hold for them; the file, with changed records. */
#ifndef ATTNC_RECORDS_H
#define ATTNC_RECORDS_H

#include <jansson.h>

#include "plan/plan.h"

typedef struct {        /* conditions under which a record holds */
    const char *cpu;    /* "AMD EPYC", as the system names it */
    const char *caches; /* "32K 1M 32M": L1, L2, L3 */
    const char *isa;    /* "x86-64-v4"; "x86-64-v4/8" for width 8 */
    int threads;
    const char *compiler; /* "Debian clang version 19.1.7 -O2";
                             "libtcc" for the JIT */
} Host;

typedef struct {
    Host host;
    TaskKey key;
    Tiling tiling;       /* the best one found */
    double ns, usual_ns; /* median time of a run; the default's; finite */
    int samples;         /* timed pairs behind the decision; may be 0 */
    double spread;       /* half of the median's 95 % confidence interval,
                            relative to the median */
} Record;
typedef struct {
    VEC(Record) at;
    int passed_over; /* lines that were skipped */
    /* Undamaged lines of another version; they stay in the file. */
    VEC(const char *) foreign;
} Records;

/* ---- host.c ---- */

/* Returns the host of this machine. `compiler`: the text of cc_version with the
 * -O level, or "libtcc". */
Host host_here(Arena *a, const Target *t, int threads, const char *compiler);
bool host_same(const Host *a, const Host *b);
bool host_same_machine(const Host *a, const Host *b);
bool host_same_isa(const Host *a, const Host *b);
bool host_same_compiler(const Host *a, const Host *b);
/* Parts of a host's texts, as in x86-64-v4/8; clang version 19.1.7 -O2. */
typedef struct {
    const char *march;
    int width;           /* 0: the target's own; -1: invalid */
    const char *version; /* the compiler's */
    const char *level;   /* after -O; NULL: none */
    bool jit;            /* the compiler is libtcc */
} HostParts;
HostParts host_parts(Arena *a, const Host *h);
/* Returns "AMD EPYC (32K 1M 32M), x86-64-v4, 2 threads, libtcc". */
const char *host_text(Arena *a, const Host *h);

/* ---- records.c ---- */

/* Returns the tilings recorded for a host, for a plan. */
Choices records_choices(Arena *a, const Records *r, const Host *host);
enum { MostSizes = 64 }; /* numbers in a shape */
/* Stores the numbers of a shape, as k and n of "512x2048"; returns how many. */
int record_sizes(const Record *r, int64_t size[MostSizes]);
/* Returns the record with the nearest other shape, of the same host, kind,
 * dtype and epilogue, from which a search can start. NULL: none. */
const Record *records_nearest(const Records *r, const Host *host,
                              const TaskKey *key);
/* Returns the record with the same host and key; NULL: none. */
Record *records_find(const Records *r, const Record *like);
/* Adds a record or replaces the one with the same host and key. */
void records_put(Records *r, Arena *a, const Record *record);

/* ---- line.c ---- */
json_t *tiling_json(const Tiling *t); /* the parameters that are set */
enum { LineMost = 65536 };            /* bytes of a line */
typedef enum {
    LineRecord,
    LineForeign, /* undamaged, but not understood */
    LineBroken   /* truncated or changed */
} LineKind;
/* Returns the line without a newline; dies if record_parse() rejects it. */
char *record_line(Arena *a, const Record *r);
/* Parses a line. `why` is set if it is not a valid record. */
LineKind record_parse(Record *to, Arena *a, const char *line, size_t n,
                      const char **why);

/* ---- file.c ---- */

/* Returns `option` (--records) or the path in user_dir(); NULL: neither. */
const char *records_path(Arena *a, const char *option);
/* Reads all valid lines; a missing file counts as empty. Skipped lines are
 * counted and reported in one warning that shows the first. False: the file
 * cannot be read, or others could have written it. */
bool records_read(Records *r, Arena *a, const char *path, Fault *why);
/* Like records_read(), for a file that the user named: it must exist. */
bool records_named(Records *r, Arena *a, const char *path, Fault *why);
/* Adds records to the file and replaces those with the same host and key. Under
 * the lock the file is read again, written under a temporary name, synced and
 * renamed; it is created if missing, and unchanged on failure. `path` NULL is a
 * fault. */
bool records_add(Arena *a, const char *path, const Record *record, int n,
                 Fault *why);
/* Replaces the file's records by the result of `edit`, under the same lock. */
bool records_edit(Arena *a, const char *path,
                  void edit(Records *r, Arena *a, void *with), void *with,
                  Fault *why);
/* Locks FILE.lock within `seconds`. Returns a descriptor to close, or -1 with
 * *why. */
int records_lock(Arena *a, const char *path, double seconds, Fault *why);

/* ---- records_print.c ---- */
void records_table(const Records *r, FILE *out);
void records_json(const Records *r, FILE *out);
void records_csv(const Records *r, FILE *out);

#endif
