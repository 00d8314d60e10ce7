/* rt.h: the runtime of a model. Emitted files also contain the core (core.h:
 * cache, search, vocabularies); only attnc uses the functions for files,
 * weights and threads. This file includes no header of the compiler.
 *
 * In:  a model's functions and its packed weights; files, tokens, text.
 * Out: answers; inputs, read and checked; complete output files or none.
 * Other public headers: core.h, exports.h, pool.h, processor.h, settings.h,
 * search_settings.h, option_rows.h, program_rows.h, kinds.h, steps.h,
 * split_steps.h, writers.h, json.h, chat.h, text_task.h, gguf.h,
 * formats.h, format_rows.h, foreign.h, looks.h, synonyms.h, generate.h,
 * input_lines.h, program.h.                                                 */
#ifndef ATTNC_RT_H
#define ATTNC_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core.h"
#include "runtime/weights/block_types.h"
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
typedef struct { /* identifies a file and its version */
    uint64_t device, inode;
    int64_t modified, changed; /* nanoseconds since 1970 */
} FileIdentity;
typedef struct { /* a complete file in memory, mapped or read */
    const char *path;
    const unsigned char *at;
    size_t size;
    bool mapped;
    FileIdentity identity; /* when it was opened */
} File;

/* ---- fault.c ---- */

/* The reason for a failure: an exit code (ExitInput, ExitIO ...) and one line
 * that names the file, the position and the remedy. Bytes that are not
 * printable ASCII appear as \xHH. A function that fails sets it and returns
 * false. */
typedef struct {
    int code;
    char text[512];
} Fault;
bool fault(Fault *f, int code, const char *fmt, ...) /* returns false */
    __attribute__((format(printf, 3, 4)));

/* ---- files.c ---- */

/* The purpose for which a file is opened. A command may read and write the same
 * file only if the purpose is the same both times and is not UseInput. */
typedef enum {
    UseInput, /* an input; if it is written, an output */
    UseRecords,
    UseRows,  /* rows of a sweep, from which it resumes */
    UseState, /* state of a stream, from which it resumes */
    UseOwn    /* managed by attnc, e.g. in its cache; exempt from this check */
} FileUse;

/* Reads a file of at most `limit` bytes, and adds a NUL after its last byte.
 * This and file_map() accept only regular files. `path` must outlive the File,
 * and a mapped File must not move before file_close(). */
bool file_read(File *f, const char *path, size_t limit, Fault *why);
bool file_map(File *f, const char *path, Fault *why); /* read-only */
/* Returns false with *why if the file contains a Git LFS pointer instead of its
 * contents. */
bool file_is_itself(const char *path, const unsigned char *at, size_t n,
                    Fault *why);
/* Read and map a file for the given purpose; the functions above use
 * UseInput. */
bool file_read_for(FileUse use, File *f, const char *path, size_t limit,
                   Fault *why);
bool file_map_for(FileUse use, File *f, const char *path, Fault *why);
void file_close(File *f);
/* From now on, if pages of a mapped file vanish because it was truncated, a
 * handler of SIGBUS names the file and ends the process with ExitIO. */
void files_catch_cuts(void);
/* From now on, the readers find these n bytes at the path instead of a file.
 * file_given() is true for such a path. The process keeps them until it ends or
 * calls files_forget_given(). */
bool file_give(const char *path, const void *at, size_t n, Fault *why);
/* The same for the bytes that read() gives: it stores up to `size` bytes from
 * offset `at` on, and returns their number, 0 at the end, or -1. */
typedef int64_t FileRead(void *with, int64_t at, void *to, int64_t size);
bool file_give_read(const char *path, FileRead *read, void *with, Fault *why);
bool file_given(const char *path);
void files_forget_given(void);
/* Returns true if the file was not modified since it was opened, even if its
 * path now leads to another file.                                           */
bool file_unchanged(const File *f);
/* Sets a function f that the file readers call with each path before they open
 * it, even if the file does not exist. */
void files_on_read(void (*f)(const char *path));
/* Returns the length of the byte order mark at the start, 0 or 3. */
size_t file_mark(const File *f);

/* ---- guard.c ---- */

/* Makes outputs fail if they would replace a file that this process has read,
 * or one that looks like an input (looks.h).                                */
void guard_begin(void);
void guard_end(void); /* frees the list of files */
/* Allows outputs to replace files that look like an input (--force). */
void guard_force(void);
/* Returns true if the guard rejected a file, which a command may have reported
 * as an unreadable input. */
bool guard_refused(void);
/* Registers a file that the command names for reading, opened or not; NULL does
 * nothing. Returns false, with ExitUsage, if the file is also an output.    */
bool guard_operand(const char *path, FileUse use, Fault *why);
/* Resolves a path and its links; the file need not exist. Writes the full path
 * to `to`, PATH_MAX bytes. Returns false if no file can be there.           */
bool guard_place(const char *path, char *to);
/* Returns true if both paths lead to one file, which need not exist. */
bool guard_same(const char *a, const char *b);
/* Registers a file that is open for reading. Returns false, with ExitUsage, if
 * it is also an output.                                                     */
struct stat;
bool guard_read(const struct stat *st, const char *path, FileUse use,
                Fault *why);
/* Returns true if the command may create or replace this file; otherwise false,
 * with ExitUsage and a message. Outputs check this themselves. A command checks
 * it before long work, and for additional files next to its output. */
bool guard_write(const char *path, FileUse use, Fault *why);
/* Reports that an output is complete: the file may be read from now on. */
void guard_written(const char *path);

/* ---- output.c ---- */

/* An output file that appears complete or not at all. Bytes go to a temporary
 * file in the same folder, which is synced and renamed. Failures, and the
 * signal handlers of files_on_signal(), remove unfinished files. An open Output
 * must not move. The path "-" is stdout; stdout, and paths for which
 * is_stream() is true, receive the bytes immediately. */
typedef struct {
    int fd; /* -1: the bytes go to the function of output_stdout_to() */
    char path[4096], temp[4096];
    FileUse use;
} Output;
/* From now on, outputs that are stdout give their bytes to a function, which
 * returns false and sets *why if they are lost. NULL: no longer. */
typedef bool OutputTake(void *with, const void *data, size_t n, Fault *why);
void output_stdout_to(OutputTake *take, void *with);
bool is_stdout(const char *path); /* "-", /dev/stdout; NULL: false */
/* Returns true for stdout, another open descriptor, a pipe or a device; false
 * for NULL.                                                                 */
bool is_stream(const char *path);
/* Flushes stdout or stderr. Returns false if some output was not written. */
bool stream_flush(FILE *to, Fault *why);
bool output_open(Output *o, const char *path, Fault *why);
bool output_open_for(FileUse use, Output *o, const char *path, Fault *why);
bool output_write(Output *o, const void *data, size_t n, Fault *why);
bool output_commit(Output *o, Fault *why);
/* Commits without fsync; a power failure may lose the contents. */
bool output_commit_unsynced(Output *o, Fault *why);
/* Commits, but does not touch a file that already has these bytes. */
bool output_commit_changed(Output *o, Fault *why);
void output_cancel(Output *o);
/* Removes temporary files for this path that are older than an hour, which
 * killed processes left behind. */
void outputs_sweep(const char *path);
/* Delays all later commits until outputs_release(), which renames all files or,
 * if `keep` is false, removes them. It returns false unless all were
 * renamed. */
void outputs_hold(void);
bool outputs_release(bool keep, Fault *why);
/* Write a file. A file that already has these bytes keeps its mtime. */
bool write_file(const char *path, const void *data, size_t n, Fault *why);
bool write_file_for(FileUse use, const char *path, const void *data, size_t n,
                    Fault *why);
/* Installs handlers: SIGINT, SIGTERM and SIGHUP remove the temporary files and
 * are raised again; exit() removes the files too; SIGXFSZ becomes an error. */
void files_on_signal(void);
/* Sets a function `f` that the handlers call before they remove the files. It
 * must be async-signal-safe. */
void call_on_signal(void (*f)(void));

/* ---- safetensors.c ---- */
typedef enum {
    StF32,
    StF16,
    StBF16,
    StI32,
    StI64,
    StF64,
#define BLOCK_TYPE(number, name, elements, bytes, floats) St##name,
    BLOCK_TYPES(BLOCK_TYPE) /* StQ4_0 and the other types of ggml */
#undef BLOCK_TYPE
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

/* Maps a weights file. A path that ends in .json is an index of shards
 * (shards.c); a file that begins with GGUF is a llama.cpp file (gguf.c). */
Safetensors *safetensors_open(const char *path, Fault *why);
void safetensors_close(Safetensors *s);
/* Returns the same tensors under other names: names[i] for tensor i. `s` and
 * the names must outlive the result. If two names are equal, a look-up finds
 * either tensor. Returns NULL if memory runs out. */
Safetensors *safetensors_renamed(const Safetensors *s,
                                 const char *const *names);
/* Returns the tensors of `s`, and tensor `at` a second time under this name.
 * Lifetimes and errors are as for safetensors_renamed(). */
Safetensors *safetensors_doubled(const Safetensors *s, int at,
                                 const char *name);
/* Returns the tensors of both files, sorted by name; names[i] replaces the name
 * of tensor i of `other`. Lifetimes and errors are as for
 * safetensors_renamed(). */
Safetensors *safetensors_joined(const Safetensors *s, const Safetensors *other,
                                const char *const *names);
int safetensors_count(const Safetensors *s);
const Tensor *safetensors_at(const Safetensors *s, int i);
const Tensor *safetensors_find(const Safetensors *s, const char *name);
const char *safetensors_path(const Safetensors *s);
/* Returns file i: the only one, or a shard; NULL past the last. */
const File *safetensors_file_at(const Safetensors *s, int i);
/* Returns false, with *why, if a file was modified since it was opened. */
bool safetensors_unchanged(const Safetensors *s, Fault *why);

/* ---- convert.c ---- */

/* Converts elements first .. first + n - 1 to float, from any type except
 * StOther.                                                                  */
void tensor_floats(const Tensor *t, int64_t first, int64_t n, float *out);
int64_t tensor_not_finite(const Tensor *t); /* counts NaNs and infinities */
typedef struct {
    int64_t n, first; /* number of values; index of the first, or -1 */
} Places;
Places tensor_places(const Tensor *t, bool wanted(float x));
/* Returns the number of elements of a block of a quantised tensor, else 0. */
int tensor_block(const Tensor *t);
/* Rounds to the nearest bf16, ties to even, and returns the upper half of a
 * float's bits. Values that are too large become infinite; NaN stays NaN. */
uint16_t bf16_of(float x);
float bf16_float(uint16_t x); /* exact */
/* Sets numbers below 2^-55 to 0. Then no product of two bf16 numbers, and no
 * sum of these, is a denormal: each is a multiple of 2^-124. */
void flush_small(float *x, int64_t n);

typedef struct { /* a tensor to write: f32, or i32 for ids */
    const char *name;
    int rank;
    int64_t dim[8];
    const void *data;
    bool is_int;
    /* used instead of `data`: computes elements first .. first + n - 1, f32.
     * Returns false to end the writing; it then has set the fault itself. */
    bool (*fill)(void *with, int64_t first, int64_t n, float *out);
    void *with;
} TensorOut;
/* ---- safetensors_write.c ---- */
bool safetensors_write(const char *path, const TensorOut *t, int n, Fault *why);

/* ---- weights.c ---- */

/* Layout of a tensor in the packed weights, which are made from the plan's
 * list. */
typedef enum {
    PackPanels,  /* [out, k] as panels of ATTN_PANEL columns, k-major */
    PackRows,    /* [rows, k] row-major (a look-up table) */
    PackVector,  /* [k] */
    PackDistance /* [buckets, heads] as one row per head: its bias
                    by distance key - query, from
                    -(length - 1) to length - 1 */
} PackLayout;

/* tables that are computed (tables.c), not read from a file */
typedef enum { TableNone, TableSinusoid, TableRotary, TableAlibi } TableKind;

/* Position in the file of the elements of one of our tensors. A one-dimensional
 * tensor counts as one column in the spec, and as one row in a PackItem. Such
 * tensors are never transposed. */
typedef struct {
    const char *name; /* NULL: not in the file, all elements are `fill` */
    double fill;
    bool transposed; /* stored as [columns, rows]; the members below
                        describe the tensor after transposing it */
    /* For each group, our rows are the `take` rows of the file that begin at
     * first + group * stride. `groups` 0: ours is the file's complete
     * tensor. */
    bool by_columns; /* columns instead of rows */
    int64_t groups, first, take, stride;
    int64_t total; /* rows of the file's tensor: groups * stride */
    int64_t taps;  /* more than 1: ours is ordered by tap of the kernel, then
                      column; the file's by column, then tap */
    /* The file's tensor consists of this many tensors of rank 2 (vectors: rank
     * 1), and ours is number `slice`; 0: it is not divided. */
    int64_t slices, slice;
    bool changed;     /* our element is scale * w + add, rounded once, */
    float scale, add; /* for an element w of the file */
} FileTensor;

typedef struct {      /* how one tensor is packed */
    const char *name; /* canonical name; NULL: a table */
    FileTensor from;  /* where its elements are in the file */
    PackLayout layout;
    Dtype dtype;                /* dtype of its block */
    int64_t rows, k;            /* its shape [rows, k]; vectors: rows 1 */
    int64_t at;                 /* byte offset of the destination block */
    int64_t first;              /* first column (out row) in the block */
    int64_t columns;            /* columns of the complete (stacked) block */
    float scale;                /* folded factor: the exact product is */
    bool scaled;                /* rounded once to float */
    bool flushed;               /* bf16_dp: numbers below 2^-55 become 0 */
    TableKind table;            /* [rows, k] computed by tables.c */
    double base;                /* TableSinusoid */
    int64_t position;           /* position of row 0 */
    bool halves, tensor2tensor; /* TableSinusoid */
    const double *rate;         /* TableRotary: [k/2] angles of a position */
    double factor;              /* factor of cosines and sines, or of slopes */
    double growth;              /* TableRotary: position p has the factor */
                                /* (1 + growth log(1 + floor(p / length))) */
    int64_t length;             /* TableAlibi, PackDistance: maximum rows */
    int64_t max_distance;
    bool bidirectional; /* PackDistance */
    bool alias;         /* another use of a tensor; not reported as missing
                         * again */
} PackItem;

typedef struct {
    const char *name; /* name of the model, or NULL */
    PackItem *item;
    int64_t count;
    int64_t bytes;     /* size of the packed weights */
    const char *dtype; /* format of most matrices, e.g. "f32"; at most 7
                        * letters */
    uint64_t hash;
} PackList;

typedef struct {             /* the source of weights */
    const Safetensors *file; /* checked by weights_check(); NULL: random weights
                                from the name and `seed`, which keep activations
                                near unit variance */
    uint64_t seed;
    const struct attn_parallel *parallel; /* threads; NULL: only the caller's */
    bool *bad; /* by tensor of the file: set to true if a value read from it is
                * not finite; NULL: not wanted */
} WeightSource;

/* Fills `packed` (p->bytes bytes, zeroed). */
void weights_pack(const PackList *p, const WeightSource *from, void *packed);

/* ---- weights_tensor.c ---- */

/* Computes a tensor for the oracle: row-major floats, rounded to its block's
 * format, without the folded scale.                                         */
void weights_tensor(const PackItem *item, const Safetensors *file,
                    uint64_t seed, float *out);
/* Computes the integers of a tensor that is stored as integers: w [rows, k],
 * -127 .. 127, and the scales [rows], without the folded scale. An element is
 * scale times w, rounded once. */
void weights_integers(const PackItem *item, const Safetensors *file,
                      uint64_t seed, int8_t *w, float *scale);

/* ---- tables.c ---- */

/* Computes columns first .. first + n - 1 of rows row .. row + rows - 1 of a
 * table of positions, in double, rounded once. Rows of `out` are `stride`
 * floats apart.                                                             */
void table_floats(const PackItem *item, int64_t row, int64_t rows,
                  int64_t first, int64_t n, float *out, int64_t stride);
/* Returns the slope of a head's linear bias [Press et al. 2022]. */
double alibi_slope(int64_t head, int64_t heads);
/* Returns the bucket of a distance key - query [Raffel et al. 2020]. */
int64_t relative_bucket(int64_t distance, int64_t buckets, int64_t max_distance,
                        bool bidirectional);

/* ---- weights_check.c ---- */

/* Lines "error: FILE: tensor 'NAME': ...\n" and "warning: ...\n", in order;
 * text is NULL if there are none.                                           */
typedef struct {
    char *text;
    size_t n, cap;
    int errors, warnings;
    bool cut;       /* memory ran out: the report is incomplete */
    bool shapes;    /* set by the caller: check shapes and types, no values */
    bool allow_nan; /* set by the caller: NaN in tensors that are not packed as
                       integers is only a warning */
    /* set by the caller: WeightSource.bad after weights_pack(). Tensors that it
     * read completely and did not mark are not read again. NULL: all are. */
    const bool *bad;
    /* set by the caller: returns true for tensors that get no warning; or
     * NULL */
    bool (*known)(const void *by, const char *tensor);
    const void *by;
} Report;
void report_free(Report *r);
/* Checks that the file has the weights of the list. A finding common to several
 * layers is one line; there are at most 20 lines of errors and 20 of warnings.
 * Errors: tensors that are missing (with the nearest unused name), have the
 * wrong shape, or do not hold numbers; NaNs; infinities in tensors that are
 * packed as integers. Leading dimensions of 1 are ignored, and a matrix may
 * have its columns in several dimensions: [d, c, p, p]. Warnings: other
 * infinities; tensors that are not used, or only in part. Notes: tables of
 * tokens or positions with more rows than the model, which uses the first ones.
 * r->errors counts tensors. Returns true if there is no error. */
bool weights_check(const PackList *p, const Safetensors *file, Report *r);

/* ---- packed_file.c ---- */
typedef struct { /* contents of model.weights */
    const PackList *list;
    const void *packed;       /* the weights, list->bytes */
    const void *source_vocab; /* blocks; 0 bytes: absent */
    int64_t source_bytes;
    const void *target_vocab;
    int64_t target_bytes;
    uint64_t random; /* 1 + the seed of random weights; 0: from a file */
} PackedModel;
/* Writes model.weights: header page, weights, vocabularies. */
bool weights_save(const char *path, const PackedModel *m, Fault *why);

/* Writes model.weights to memory, without the hash of its contents, for a
 * program that embeds it. Returns the size in bytes; `to` NULL: only computes
 * the size. */
int64_t weights_image(void *to, const PackedModel *m);

#endif
