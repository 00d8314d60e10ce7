/* rt.h: what runs a model. The core (core.h: cache, search, vocabularies) is
 * part of emitted files too; files, weights and threads are attnc's own. No
 * compiler header is included here.
 *
 * In:  a model's functions and its packed weights; files, tokens, text.
 * Out: answers; what was read, checked; files that appear whole or not at all.
 * Public beside it: core.h, exports.h, pool.h, settings.h, search_settings.h,
 * option_rows.h, kinds.h, steps.h, split_steps.h, writers.h, json.h, chat.h,
 * gguf.h, formats.h, format_rows.h, foreign.h, looks.h, synonyms.h, generate.h,
 * program.h.                                                                */
#ifndef ATTNC_RT_H
#define ATTNC_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core.h"
#include "runtime/weights/formats.h"

/* Exit codes (docs/errors.md). Signals are re-raised, not returned. */
enum {
    ExitDone = 0,
    ExitNegative = 1,
    ExitUsage = 2,
    ExitInput = 3,
    ExitIO = 4,
    ExitResource = 5,
    ExitBackend = 6,
    ExitInternal = 70
};

/* ---- files.c ---- */
typedef struct { /* what tells a file from others, and from what it was */
    uint64_t device, inode;
    int64_t modified, changed; /* nanoseconds since 1970 */
} FileIdentity;
typedef struct { /* a whole file, mapped or read */
    const char *path;
    const unsigned char *at;
    size_t size;
    bool mapped;
    FileIdentity identity; /* when it was opened */
} File;

/* ---- fault.c ---- */

/* Why something failed: an exit code (ExitInput, ExitIO ...) and one line that
 * names the file, the place and the remedy. Bytes that are not printable ASCII
 * are shown as \xHH. Functions return false and fill it.                     */
typedef struct {
    int code;
    char text[512];
} Fault;
bool fault(Fault *f, int code, const char *fmt, ...) /* returns false */
    __attribute__((format(printf, 3, 4)));

/* ---- files.c ---- */

/* Says why a file is opened. One file may be read and written by one command
 * where both are for the same use, but for UseInput.                        */
typedef enum {
    UseInput, /* read, or written: an output, then */
    UseRecords,
    UseRows,  /* of a sweep, to go on with */
    UseState, /* of a stream, to go on with */
    UseOwn    /* attnc's own, as in its cache: it is not guarded at all */
} FileUse;

/* Regular files only; a message for all else. `path` must outlive the File,
 * and a File that is mapped stays where it is until file_close: should its
 * pages vanish (the file was cut), the handler of SIGBUS names it and ends the
 * process with ExitIO.                                                      */
bool file_read(File *f, const char *path, size_t limit, Fault *why);
/* a NUL follows the last byte */
bool file_map(File *f, const char *path, Fault *why); /* read-only */
/* Do these first bytes belong to the file? False, with *why, where they are Git
 * LFS's pointer to it, which no reader of files takes.                      */
bool file_is_itself(const char *path, const unsigned char *at, size_t n,
                    Fault *why);
/* The same for another use than UseInput. */
bool file_read_for(FileUse use, File *f, const char *path, size_t limit,
                   Fault *why);
bool file_map_for(FileUse use, File *f, const char *path, Fault *why);
void file_close(File *f);
/* Has nobody written to it since it was opened? True where its path leads to
 * another one by now.                                                       */
bool file_unchanged(const File *f);
/* From now on f is called with each path before it is opened to be read, also
 * where there is no such file. */
void files_on_read(void (*f)(const char *path));
/* Bytes of the mark, U+FEFF in UTF-8, that some editors put before a text: 3,
 * or 0 where there is none.                                                 */
size_t file_mark(const File *f);

/* ---- guard.c ---- */

/* From here on no output replaces a file that this process read or reads, nor
 * one that looks like an input (looks.h).                                   */
void guard_begin(void);
void guard_end(void); /* frees what it remembers */
/* Outputs may replace what looks like an input: --force. */
void guard_force(void);
/* Was a file refused because it is read and would be replaced? A command may
 * have taken that for any input that can't be read.                         */
bool guard_refused(void);
/* Remembers a file that the command names for reading, whether it is opened or
 * not; NULL: nothing. False, with ExitUsage: it is an output too.           */
bool guard_operand(const char *path, FileUse use, Fault *why);
/* Writes the full path of the file, there or to come, to which the path and its
 * links lead, to `to`, PATH_MAX bytes. False: none can be there.            */
bool guard_place(const char *path, char *to);
/* Do both paths lead to one file, there or to come? */
bool guard_same(const char *a, const char *b);
/* It is open to be read. False, with ExitUsage: it is an output too. */
struct stat;
bool guard_read(const struct stat *st, const char *path, FileUse use,
                Fault *why);
/* May the command replace what is there? True where nothing is. Outputs ask it
 * themselves; a command asks before it works long, also of files beside its
 * output. False, with ExitUsage and a message: no.                          */
bool guard_write(const char *path, FileUse use, Fault *why);
/* The output is in this place: from now on what has the path may be read. */
void guard_written(const char *path);

/* ---- output.c ---- */

/* An output file that appears whole or not at all: a temporary file in the
 * same folder, fsync, rename. Unfinished ones are removed on failure, and by
 * the signal handlers that files_on_signal() installs. An open Output stays
 * where it is. The path "-" is stdout, which gets the bytes as they come, as
 * does each path of which is_stream() is true.                              */
typedef struct {
    int fd;
    char path[4096], temp[4096];
    FileUse use;
} Output;
bool is_stdout(const char *path); /* "-", /dev/stdout; NULL: false */
/* Is it stdout, another open descriptor, a pipe or a device? NULL: false. */
bool is_stream(const char *path);
/* Flushes stdout, or stderr in its place; false where not all that was printed
 * has been written.                                                         */
bool stream_flush(FILE *to, Fault *why);
bool output_open(Output *o, const char *path, Fault *why);
bool output_open_for(FileUse use, Output *o, const char *path, Fault *why);
bool output_write(Output *o, const void *data, size_t n, Fault *why);
bool output_commit(Output *o, Fault *why);
/* Of a file, without fsync: after a power failure its content may be lost. */
bool output_commit_unsynced(Output *o, Fault *why);
/* The same, but a file that has these bytes already keeps its time. */
bool output_commit_changed(Output *o, Fault *why);
void output_cancel(Output *o);
/* Removes the temporary files that writers of this path left who were killed
 * more than an hour ago.                                                    */
void outputs_sweep(const char *path);
/* From here to the release, committed files wait beside their places; then
 * all of them go there, or none where `keep` is false. False: not all did.  */
void outputs_hold(void);
bool outputs_release(bool keep, Fault *why);
bool write_file(const char *path, const void *data, size_t n, Fault *why);
bool write_file_for(FileUse use, const char *path, const void *data, size_t n,
                    Fault *why);
/* leaves an unchanged file's mtime alone */
void files_on_signal(void); /* SIGINT, SIGTERM, SIGHUP: remove temps,
                               re-raise; at exit too; SIGXFSZ becomes an
                               error */
/* `f` is called before they are removed: it does what a handler of signals may
 * do, no more.                                                               */
void call_on_signal(void (*f)(void));

/* ---- safetensors.c ---- */
typedef enum {
    StF32,
    StF16,
    StBF16,
    StI32,
    StI64,
    StF64,
    StQ8, /* Q8_0 of ggml: blocks of 32 in a row, their scale in f16 and */
    StQ4, /* 8 bits each; Q4_0: 4 bits each */
    StOther
} StType;
typedef struct {
    const char *name;
    StType type;
    const char *type_name; /* as written */
    int rank;
    int64_t dim[8];
    const unsigned char *at; /* may be unaligned */
    size_t bytes;
    int64_t elements;
} Tensor;
typedef struct Safetensors Safetensors;

/* Mapped. A path that ends in .json is an index of shards (shards.c); a file
 * that begins with GGUF is one of llama.cpp (gguf.c).                        */
Safetensors *safetensors_open(const char *path, Fault *why);
void safetensors_close(Safetensors *s);
/* The same tensors by other names, which must outlive it, as `s` must: names[i]
 * of tensor i. Of two with one name either is found. NULL: no memory.       */
Safetensors *safetensors_renamed(const Safetensors *s,
                                 const char *const *names);
/* The same tensors, and those of `other` by other names; of both that is above.
 */
Safetensors *safetensors_joined(const Safetensors *s, const Safetensors *other,
                                const char *const *names);
int safetensors_count(const Safetensors *s);
const Tensor *safetensors_at(const Safetensors *s, int i);
const Tensor *safetensors_find(const Safetensors *s, const char *name);
const char *safetensors_path(const Safetensors *s);
/* The files that it is in, from 0 on: itself, or its shards; NULL: no more. */
const File *safetensors_file_at(const Safetensors *s, int i);
/* False, with *why: one of them was written to since it was opened. */
bool safetensors_unchanged(const Safetensors *s, Fault *why);

/* ---- convert.c ---- */

/* Elements first .. first + n - 1 as floats, from any type but StOther. */
void tensor_floats(const Tensor *t, int64_t first, int64_t n, float *out);
int64_t tensor_not_finite(const Tensor *t); /* NaN and infinities */
/* The nearest bf16, of two the even one, as the upper half of a float's bits.
 * What is too large becomes infinite; NaN stays NaN.                        */
uint16_t bf16_of(float x);
float bf16_float(uint16_t x); /* exact */

typedef struct { /* to be written: f32, or i32 when ids */
    const char *name;
    int rank;
    int64_t dim[8];
    const void *data;
    bool is_int;
    /* In the place of data: elements first .. first + n - 1, f32. */
    void (*fill)(void *with, int64_t first, int64_t n, float *out);
    void *with;
} TensorOut;
/* ---- safetensors_write.c ---- */
bool safetensors_write(const char *path, const TensorOut *t, int n, Fault *why);

/* ---- weights.c ---- */

/* How packed weights are made: the plan's list, evaluated here. */
typedef enum {
    PackPanels,  /* [out, k] as panels of ATTN_PANEL columns, k-major */
    PackRows,    /* [rows, k] row-major (a look-up table) */
    PackVector,  /* [k] */
    PackDistance /* [buckets, heads] as a row a head: its bias
                    by distance key - query, from
                    -(length - 1) to length - 1 */
} PackLayout;

/* tables.c: what is computed, not read */
typedef enum { TableNone, TableSinusoid, TableRotary, TableAlibi } TableKind;

/* Where the elements of one of our tensors are in the file. The spec says it of
 * tensors of one dimension as of one column, a PackItem as of one row; nothing
 * is transposed there.                                                      */
typedef struct {
    const char *name; /* NULL: the file has none, all are `fill` */
    double fill;
    bool transposed; /* stored [columns, rows]; what follows is
                        said of the tensor turned back */
    /* Our rows are, for each group, the `take` rows from first + group * stride
     * on. groups 0: the file's tensor is ours whole.                        */
    bool by_columns; /* so with columns in place of rows */
    int64_t groups, first, take, stride;
    int64_t total; /* of the file's tensor: groups * stride */
    int64_t taps;  /* more than 1: our columns are those of each tap of a
                      kernel in turn, the file's the taps of each column */
    /* The file's tensor is so many of these, one behind the other; 0: it is
     * one. Each has rank 2 or, of a vector, 1. */
    int64_t slices, slice;
    bool changed;     /* its element w is scale w + add of ours, rounded */
    float scale, add; /* once */
} FileTensor;

typedef struct {      /* one tensor's way into the packed weights */
    const char *name; /* canonical name; NULL: a table */
    FileTensor from;  /* where its elements are in the file */
    PackLayout layout;
    Dtype dtype;                /* of its block */
    int64_t rows, k;            /* its shape [rows, k]; vectors: rows 1 */
    int64_t at;                 /* byte offset of the destination block */
    int64_t first;              /* its first column (out row) in the block */
    int64_t columns;            /* columns of the whole block (stacked) */
    float scale;                /* folded factor: the exact product is */
    bool scaled;                /* rounded once to float */
    TableKind table;            /* [rows, k] made by tables.c; no tensor */
    double base;                /* TableSinusoid */
    int64_t position;           /* of row 0 */
    bool halves, tensor2tensor; /* TableSinusoid */
    const double *rate;         /* TableRotary: [k/2] angles of a position */
    double factor;              /* of cosines and sines, or of slopes */
    int64_t length;             /* TableAlibi, PackDistance: most rows */
    int64_t max_distance;
    bool bidirectional; /* PackDistance */
    bool alias;         /* second use of a tensor: not counted as
                           missing twice */
} PackItem;

typedef struct {
    const char *name; /* of the model; NULL: it has none */
    PackItem *item;
    int64_t count;
    int64_t bytes;     /* of the packed weights */
    const char *dtype; /* of most matrices, in 7 letters at most: "f32" .. */
    uint64_t hash;
} PackList;

typedef struct {             /* where weights come from */
    const Safetensors *file; /* that weights_check has passed; NULL: weights by
                                name and `seed` that keep activations near unit
                                variance */
    uint64_t seed;
    const struct attn_parallel *parallel; /* threads; NULL: the caller's */
    bool *bad; /* set of each tensor of the file of which a value that was read
                  is not finite; NULL: not asked */
} WeightSource;

/* packing.c: fills `packed` (p->bytes, zeroed). */
void weights_pack(const PackList *p, const WeightSource *from, void *packed);

/* ---- weights_tensor.c ---- */

/* One tensor as the packer sees it, rounded to its block's format, row-major
 * floats, without folded scale: for the oracle. */
void weights_tensor(const PackItem *item, const Safetensors *file,
                    uint64_t seed, float *out);
/* Of one that is stored in integers, these: w [rows, k], -127 .. 127, and the
 * scales [rows], without the folded one. An element is scale times w, rounded
 * once.                                                                     */
void weights_integers(const PackItem *item, const Safetensors *file,
                      uint64_t seed, int8_t *w, float *scale);

/* ---- tables.c ---- */

/* Of rows row .. row + rows - 1 of a table of positions the columns first ..
 * first + n - 1: in double, rounded once; `stride` from a row to the next.  */
void table_floats(const PackItem *item, int64_t row, int64_t rows,
                  int64_t first, int64_t n, float *out, int64_t stride);
/* Slope of a head's linear bias [Press et al. 2022]. */
double alibi_slope(int64_t head, int64_t heads);
/* Bucket of a distance key - query [Raffel et al. 2020]. */
int64_t relative_bucket(int64_t distance, int64_t buckets, int64_t max_distance,
                        bool bidirectional);

/* ---- weights_check.c ---- */

/* Lines "error: FILE: tensor 'NAME': ...\n" and "warning: ...\n", in order;
 * text is NULL while there are none.                                        */
typedef struct {
    char *text;
    size_t n, cap;
    int errors, warnings;
    bool cut;       /* memory ran out: not all was found */
    bool shapes;    /* asked: these and types alone, no value is looked at */
    bool allow_nan; /* asked: NaN is a warning where no integers are made */
    /* asked, or NULL: weights_pack set it for these tensors of the file, so
     * that those that it took whole and did not set are not looked at again */
    const bool *bad;
    /* asked, or NULL: no warning names a tensor of which this is true */
    bool (*known)(const void *by, const char *tensor);
    const void *by;
} Report;
void report_free(Report *r);
/* One line for what is the same of many layers, 20 of errors and of warnings at
 * most. Errors: every tensor that is missing (with the nearest name that
 * nothing uses), mis-shaped or not of numbers; 1s before a shape are nothing,
 * and a matrix may have its columns in several dimensions: [d, c, p, p]; NaN,
 * and infinities where integers are made of them. Warnings: infinities
 * elsewhere, tensors that nothing uses whole. Notes:
 * tables of tokens and positions that have more rows than the model; the first
 * are taken. r->errors counts tensors. True when there is no error.         */
bool weights_check(const PackList *p, const Safetensors *file, Report *r);

/* ---- packed_file.c ---- */
typedef struct { /* what model.weights has in it */
    const PackList *list;
    const void *packed;       /* the weights, list->bytes */
    const void *source_vocab; /* blocks; 0 bytes: none */
    int64_t source_bytes;
    const void *target_vocab;
    int64_t target_bytes;
    uint64_t random; /* 1 + the seed of random weights; 0: of a file */
} PackedModel;
/* Writes model.weights: header page, weights, vocabularies. */
bool weights_save(const char *path, const PackedModel *m, Fault *why);

/* The same in memory, for a program: without the hash of its contents. Their
 * number; `to` NULL: only that.                                             */
int64_t weights_image(void *to, const PackedModel *m);

#endif
