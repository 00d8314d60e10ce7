/* records.h: the tuning database: a file with the tilings that `attnc tune`
 * found.
 *
 * $XDG_CACHE_HOME/attnc/tune.txt has one JSON object per line. A line is valid
 * for one machine, compiler and number of threads, and contains a hash of
 * itself. Damaged lines and lines of another version are skipped, with one
 * warning. The file is replaced atomically under a lock, so readers see the old
 * or the new file.
 *
 * In:  a file of records; a host, the tasks of a plan.
 * Out: the tilings that are valid for them; the file, with changed records. */
#ifndef ATTNC_RECORDS_H
#define ATTNC_RECORDS_H

#include "base/columns.h"

#include "plan/plan.h"

typedef struct {        /* the conditions under which a record is valid */
    const char *cpu;    /* name of the CPU from the system, "AMD EPYC" */
    const char *caches; /* sizes of L1, L2 and L3, e.g. "32K 1M 32M" */
    const char *isa;    /* target: "x86-64-v4", or "x86-64-v4/8" for width 8 */
    int threads;
    const char *compiler; /* compiler: "Debian clang version 19.1.7 -O2", or
                           * "libtcc" for the JIT */
} Host;

typedef struct {
    Host host;
    TaskKey key;
    Tiling tiling;       /* the best tiling found */
    double ns, usual_ns; /* median times of a run with this tiling and with the
                          * default; finite */
    int samples;         /* timed pairs that the decision rests on, or 0 */
    double spread;       /* half the width of the median's 95 % confidence
                          * interval, relative to the median */
} Record;
typedef struct {
    VEC(Record) at;
    int passed_over; /* number of skipped lines */
    /* undamaged lines of another version, which remain in the file */
    VEC(const char *) foreign;
} Records;

/* ---- host.c ---- */

/* Returns the host for this machine. `compiler` is the result of cc_version()
 * and the -O level, or "libtcc". */
Host host_here(Arena *a, const Target *t, int threads, const char *compiler);
bool host_same(const Host *a, const Host *b);
bool host_same_machine(const Host *a, const Host *b);
bool host_same_isa(const Host *a, const Host *b);
bool host_same_compiler(const Host *a, const Host *b);
/* the parts of a host's texts, e.g. of "x86-64-v4/8" and "clang version 19.1.7
 * -O2" */
typedef struct {
    const char *march;
    int width;           /* vector width; 0: target's default; -1: invalid */
    const char *version; /* version of the compiler */
    const char *level;   /* level after -O, or NULL */
    bool jit;            /* the compiler is libtcc */
} HostParts;
HostParts host_parts(Arena *a, const Host *h);
/* Returns a description, e.g. "AMD EPYC (32K 1M 32M), x86-64-v4, 2 threads,
 * libtcc". */
const char *host_text(Arena *a, const Host *h);

/* ---- records.c ---- */

/* Returns the tilings that are recorded for the host, for use in a plan. */
Choices records_choices(Arena *a, const Records *r, const Host *host);
enum { MostSizes = 64 }; /* maximum numbers in a shape */
/* Stores the numbers of a shape, e.g. k and n of "512x2048". Returns how many
 * there are. */
int record_sizes(const Record *r, int64_t size[MostSizes]);
/* Returns the record with the nearest other shape, for the same host, kind,
 * dtype and epilogue, as the starting point of a search; or NULL. */
const Record *records_nearest(const Records *r, const Host *host,
                              const TaskKey *key);
/* Returns the record with the host and key of `like`, or NULL. */
Record *records_find(const Records *r, const Record *like);
/* Adds a record, or replaces the one with the same host and key. */
void records_put(Records *r, Arena *a, const Record *record);

/* ---- line.c ---- */

/* The members of a record's line, except version, tile and hash. The tile
 * follows the first KeyColumns. */
enum { KeyColumns = 9, TimeColumns = 4 };
extern const RowColumn record_columns[];
json_t *tiling_json(const Tiling *t); /* the parameters that are set, as JSON */
enum { LineMost = 65536 };            /* maximum length of a line in bytes */
typedef enum {
    LineRecord,
    LineForeign, /* undamaged, but of another version */
    LineBroken   /* truncated or changed */
} LineKind;
/* Returns the record as a line without a newline. Ends the program if
 * record_parse() would reject the line. */
char *record_line(Arena *a, const Record *r);
/* Parses a line. Sets *why if the line is not a valid record. */
LineKind record_parse(Record *to, Arena *a, const char *line, size_t n,
                      const char **why);

/* ---- file.c ---- */

/* Returns the path of the file: `option` (--records), or else one in
 * user_dir(). NULL if there is neither. */
const char *records_path(Arena *a, const char *option);
/* Reads all valid lines. A missing file counts as empty. If lines were skipped,
 * warns once, with their number and the first one. Returns false if the file
 * cannot be read, or if others may write to it. */
bool records_read(Records *r, Arena *a, const char *path, Fault *why);
/* Like records_read(), but the file must exist, because the user named it. */
bool records_named(Records *r, Arena *a, const char *path, Fault *why);
/* Adds records to the file, and replaces those with the same host and key.
 * Holds the lock while it reads the file again, writes a temporary file, syncs
 * and renames it. Creates a missing file; leaves the file unchanged after a
 * failure. `path` NULL is a fault. */
bool records_add(Arena *a, const char *path, const Record *record, int n,
                 Fault *why);
/* Replaces the records of the file with those that `edit` leaves, under the
 * same lock. */
bool records_edit(Arena *a, const char *path,
                  void edit(Records *r, Arena *a, void *with), void *with,
                  Fault *why);
/* Locks FILE.lock, waiting at most `seconds`. Returns a descriptor that the
 * caller must close, or -1 with *why. */
int records_lock(Arena *a, const char *path, double seconds, Fault *why);

/* ---- records_print.c ---- */
void records_table(const Records *r, FILE *out);
void records_json(const Records *r, FILE *out);
void records_csv(const Records *r, FILE *out);

#endif
