/* emit.h: a plan as C text. put() prints whole lines with $name holes, nested
 * by the braces that are open; let() binds a hole. An emitter function reads
 * like its output.
 *
 * In:  a Plan.
 * Out: the text of a model, for a C compiler or for libtcc; its header; a task
 *      of it alone; the kernels that attnc is built with.                   */
#ifndef ATTNC_EMIT_H
#define ATTNC_EMIT_H

#include "plan/plan.h"

typedef struct Emit Emit;

Emit *emit_new(Arena *a);
/* Binds $name, a literal, until emit_reset() to an earlier emit_mark(). */
void let(Emit *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int emit_mark(const Emit *e);
void emit_reset(Emit *e, int mark);
/* Appends a block: it must end in a newline; an unbound $hole is a bug of
 * attnc and die()s. Indentation: the block's own plus 4 spaces for each brace
 * left open by earlier blocks.                                              */
void put(Emit *e, const char *block);
int emit_depth(const Emit *e); /* braces open */
const char *emit_text(const Emit *e, size_t *n);
void emit_raw(Emit *e, const char *text, size_t n); /* verbatim */
const char *c_float(Arena *a, double x); /* hex float literal: (0x1.8p+1f) */
const char *c_string(Arena *a, const char *s, size_t n); /* octal-escaped */

/* -------------------------------------------------------------- tile.c --- */
/* A tile function computes an mr x nr block of C = A B + .. in named vector
 * accumulators. It is known by this descriptor, and by nothing else.        */
enum {
    EpBias = 1,
    EpAct = 2,
    EpResidual = 4,   /* act(acc + bias) + residual */
    EpAccumulate = 8, /* acc starts from C */
    EpAny = 16,       /* all of bias, residual, act decided at run time: the
                         prebuilt kernels of the JIT; NULL pointers: absent */
    EpAhead = 32      /* asks for the panels at `next`, as it goes */
};
typedef struct {
    int mr, nr;
    Dtype dtype;
    int epilogue;
    Activation act; /* EpAct: which one */
    int width;
} TileKey;

/*  void NAME(const float *a, int64_t lda,      mr rows of A, k long
 *            const T *b, int64_t ldb,          nr/16 panels, ldb T's apart,
 *                                              each [k][16], 64-byte aligned
 *            int64_t k,
 *            float *c, int64_t ldc,            mr x nr
 *            const float *bias,                [nr]
 *            const float *residual, int64_t ldr,
 *            int64_t act,                      Activation; only EpAny reads it
 *            const T *next);                   EpAhead, EpAny: a panel that is
 *                                              read soon, and the one at + ldb
 *                                              where nr > 16; else any
 * T is number_type(dtype): bf16 is widened as it is read.
 * The sum runs over k in order, one FMA each, for every output on its own lane:
 * the same bits for every mr, nr, width and compiler.                       */
extern const char *const act_kernel[ActCount]; /* words of kernels */
const char *tile_name(Arena *a, TileKey k);    /* tile_6x64_bias_relu */
const char *number_type(Dtype d);              /* "float", "uint16_t" */
bool tile_asks_ahead(TileKey k);               /* uses `next` */
void emit_tile(Emit *e, TileKey k, bool is_static);
void declare_tile(Emit *e, TileKey k); /* prototype only: the JIT */

/* ----------------------------------------------------------- kernels.c --- */
/* The fixed kernels: pieces of the files in kernels/ (embedded at build), found
 * by name, with the pieces they need. See those files for signatures. Pieces
 * of an activation end in its word: activate_rows_gelu, gate_rows_silu.     */
typedef struct Kernels Kernels; /* what one emitted file has asked for */
Kernels *kernels_new(Arena *a, const Target *t, bool jit);
/* Records the need; returns the function's name. */
const char *use_tile(Kernels *k, TileKey key);
const char *use_kernel(Kernels *k, const char *name);
/* Prints all that was asked for, in dependency order: definitions, or for the
 * JIT prototypes. */
void emit_kernels(Kernels *k, Emit *e);
int kernels_count(const Kernels *k);
const char *kernels_nth(const Kernels *k, int i); /* names, first use first */

/* Texts that attnc carries (base/embed.c), by file name: "kernels.c". */
typedef struct Embedded {
    const char *name, *text;
    size_t size;
} Embedded;
extern const Embedded embedded[];
extern const int n_embedded;
const char *embedded_text(const char *name, size_t *n); /* else die()s */

/* ---------------------------------------------- backend/kernel_table.c --- */
/* The prebuilt kernel for a target: the function that use_tile() or
 * use_kernel() named. NULL: there is none of that name. Every tile is there. */
void *kernel_find(const Target *t, const char *name);
/* Name of the i-th prebuilt kernel for a target; NULL: there are no more. */
const char *kernel_name(const Target *t, int i);

/* ------------------------------------------------------------- model.c --- */
typedef enum { EmitAot, EmitJit } EmitMode;
typedef struct Timers {         /* a clock in the model's steps: for attnc
                                   bench, whose text is for this process */
    void (*tick)(int64_t slot); /* called when a step's function begins, and
                                   with the next slot when it ends */
    int *slot;                  /* filled in, by place in the plan's order:
                                   the slot of its function's end */
    const char **name;          /* by region: what it is called */
    int slots;                  /* and how many there are */
} Timers;
typedef struct {
    EmitMode mode;
    Timers *timers;      /* NULL: none */
    bool main;           /* with the program under ATTNC_MAIN */
    const char *command; /* canonical command line for the header */
    const unsigned char *embed;
    size_t embed_bytes; /* --embed: the whole
      model.weights file; NULL: outside */
} EmitOptions;
const char *emit_model(Arena *a, const Plan *p, const EmitOptions *o,
                       size_t *n);                           /* model.c */
const char *emit_header(Arena *a, const Plan *p, size_t *n); /* model.h */
/* The functions that it has, one after the other; NULL behind the last. */
const char *emit_exported(Arena *a, const Plan *p, int i);

/* -------------------------------------------------------------- task.c --- */
/* One task of a plan alone, as its model has it, for `attnc tune` to time: a
 * copy of the plan's with any valid tiling; a product of few rows goes the way
 * that the plan, or the copy, has for few. The text exports
 *     void attnc_task(void *const *at, const int64_t *n)
 * TaskMatmul, TaskFew: y [rows, columns from .. to - 1] of a product,
 *     at = { x, w, bias, y, residual }     NULL: absent
 *     n = { rows, from, to, ldx, ldy, ldr }     from, to: as a thread gets
 *     them: multiples of 16 * tiling.panels, or the last column's panel's end
 * TaskAttention: one head's queries over keys in pages,
 *     at = { q, k, v, page, bias, y, scratch }    as struct keys has them
 *     n = { ldq, rows, k_page, v_page, count, past, prefix, ldy }
 *     scratch: task_shape() of the copy says how many floats
 * Other kinds have no text of their own: NULL.                              */
const char *emit_task(Arena *a, const Plan *p, const Task *t, EmitMode mode,
                      size_t *n);

#endif
