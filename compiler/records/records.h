/* records.h: the tilings that `attnc tune` found, kept in a file.
 *
 * One JSON object a line, $XDG_CACHE_HOME/attnc/tune.txt. A line is true for
 * one machine, compiler and number of threads, and carries a hash of itself:
 * what was cut, changed or is of another version is passed over, with one
 * warning. The file is replaced whole, under a lock: readers see what was
 * there before or what is there after.
 *
 * In:  a file of records; a host, the tasks of a plan.
 * Out: the tilings that hold for them; the file with records added or gone. */
#ifndef ATTNC_RECORDS_H
#define ATTNC_RECORDS_H

#include "plan/plan.h"

typedef struct {        /* what a record is true for */
    const char *cpu;    /* "AMD EPYC", as the system names it */
    const char *caches; /* "32K 1M 32M": L1, L2, L3 */
    const char *isa;    /* "x86-64-v4"; "x86-64-v4/8" of width 8 */
    int threads;
    const char *compiler; /* "Debian clang version 19.1.7 -O2";
                             "libtcc" of the JIT */
} Host;

typedef struct {
    Host host;
    TaskKey key;
    Tiling tiling;       /* the incumbent's */
    double ns, usual_ns; /* a run: its median, the default's; finite */
    int samples;         /* pairs that were timed to decide; or 0 */
    double spread;       /* half of the median's 95 % interval, as a
                            part of it */
} Record;
typedef struct {
    VEC(Record) at;
    int passed_over; /* lines that are none of these */
    /* Undamaged lines of another version, which stay in the file. */
    VEC(const char *) foreign;
} Records;

/* ---- host.c ---- */

/* The host of this machine; `compiler`: what cc_version says and the level, or
 * "libtcc".                                                                  */
Host host_here(Arena *a, const Target *t, int threads, const char *compiler);
bool host_same(const Host *a, const Host *b);
bool host_same_machine(const Host *a, const Host *b);
bool host_same_isa(const Host *a, const Host *b);
bool host_same_compiler(const Host *a, const Host *b);
/* What its texts say: x86-64-v4/8; clang version 19.1.7 -O2. */
typedef struct {
    const char *march;
    int width;           /* 0: the target's own; -1: none that there is */
    const char *version; /* of the compiler */
    const char *level;   /* NULL: there is none */
    bool jit;            /* it is libtcc */
} HostParts;
HostParts host_parts(Arena *a, const Host *h);
/* "AMD EPYC (32K 1M 32M), x86-64-v4, 2 threads, libtcc" */
const char *host_text(Arena *a, const Host *h);

/* ---- records.c ---- */

/* The choices of a host, for a plan. */
Choices records_choices(Arena *a, const Records *r, const Host *host);
enum { MostSizes = 64 }; /* of a shape */
/* The numbers of its shape in their order: k and n of "512x2048". How many. */
int record_sizes(const Record *r, int64_t size[MostSizes]);
/* Of the same host, kind, dtype and epilogue, the nearest shape that is not the
 * same: where a search may start. NULL: none.                                */
const Record *records_nearest(const Records *r, const Host *host,
                              const TaskKey *key);
/* The record of the same host and key; NULL: there is none. */
Record *records_find(const Records *r, const Record *like);
/* Adds it, in the place of one of the same host and key. */
void records_put(Records *r, Arena *a, const Record *record);

/* ---- line.c ---- */
enum { LineMost = 65536 }; /* bytes of a line */
typedef enum {
    LineRecord,
    LineForeign, /* whole, but not to be understood */
    LineBroken   /* cut or changed */
} LineKind;
/* Without a newline. What record_parse would not take is a bug: die(). */
char *record_line(Arena *a, const Record *r);
/* `why`: what is wrong with a line that is no record. */
LineKind record_parse(Record *to, Arena *a, const char *line, size_t n,
                      const char **why);

/* ---- file.c ---- */

/* --records, or the user's own: XDG_CACHE_HOME, HOME/.cache. NULL: neither. */
const char *records_path(Arena *a, const char *option);
/* All valid lines; a file that is not there has none. What was passed over is
 * counted, and said in one warning (file:line of the first and why). False:
 * the file can't be read, or others could have written it.                   */
bool records_read(Records *r, Arena *a, const char *path, Fault *why);
/* The same of a file that the user named: it must be there. */
bool records_named(Records *r, Arena *a, const char *path, Fault *why);
/* Adds to the file, in the place of records of the same host and key: under the
 * lock, read again, written aside, synced, renamed. Made when absent. The file
 * stays as it was on failure. `path` NULL: a fault.                          */
bool records_add(Arena *a, const char *path, const Record *record, int n,
                 Fault *why);
/* Replaces the file by what `edit` leaves of it, under the same lock. */
bool records_edit(Arena *a, const char *path,
                  void edit(Records *r, Arena *a, void *with), void *with,
                  Fault *why);
/* The lock of a file, FILE.lock, taken within `seconds`: a descriptor to close;
 * -1, with *why.                                                             */
int records_lock(Arena *a, const char *path, double seconds, Fault *why);

/* ---- records_print.c ---- */
void records_table(const Records *r, FILE *out);
void records_json(const Records *r, FILE *out);
void records_csv(const Records *r, FILE *out);

#endif
