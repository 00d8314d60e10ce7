/* emit.h: turns a plan into C text: a model's file, its header, or a single
 * task. The text depends only on the plan and the options below.
 *
 * In:  a Plan, and how its text is used.
 * Out: C text in the arena, to be compiled (backend) or written to a file.
 * Other public headers: embedded.h, parts.h.                                */
#ifndef ATTNC_EMIT_H
#define ATTNC_EMIT_H

#include "plan/plan.h"

/* ---- model.c ---- */
typedef enum {
    EmitAot,   /* a complete file: the model, its search, its text functions, a
                * program */
    EmitModel, /* only the code that NAME_model() calls, which a C compiler
                * compiles for this process */
    EmitJit    /* like EmitModel, for libtcc, with calls of prebuilt kernels */
} EmitMode;
typedef struct Timers {         /* clocks for the model's steps, used by attnc
                                 * bench; not for EmitAot */
    void (*tick)(int64_t slot); /* called when a step's function begins, with
                                 * its slot, and when it ends, with the next
                                 * slot */
    int *slot;                  /* results, in the plan's order: slot of the end
                                 * of the node's function */
    const char **name;          /* [regions]: name of the function */
    int slots;                  /* number of slots */
} Timers;
/* The optional parts of a file: rows of parts.h. */
typedef enum {
#define PART(id, ...) File##id,
#include "emit/parts.h"
    FileParts
} FilePart;
typedef struct {
    EmitMode mode;
    Timers *timers;      /* clocks for the steps; NULL: none */
    const char *command; /* canonical command line, printed in the header */
    const char *file;    /* base name of the files: "model" for model.c */
    bool freestanding;   /* leave out files, printing, allocation and threads,
                          * and so handles and the program */
    bool beside;         /* the runtime is in attn.c and attn.h, not here */
    unsigned left_out;   /* parts to leave out, as bits such as 1 << FileText */
    /* Vocabularies of source and target. Only code for their kinds and steps is
     * emitted. If one is NULL, that side has none; if both are, they are
     * unknown and all code is emitted. */
    const void *vocab[2];
    /* Plans of the same graph for further targets of x86-64, whose code the
     * file has beside that of the plan. The processor decides which one runs.
     * The first is the best; the plan itself comes after them. */
    const Plan *const *levels;
    int nlevels;
    int64_t max_input, /* maximum lengths for the header's memory sizes; */
        max_output;    /* 0: those of the model */
    const char *const *grammar; /* lines of the program's grammar, before
                                 * NULL; NULL: none */
    size_t grammar_bytes;
    /* for --embed: the contents of model.weights, to be emitted as a literal,
     * or the name of that file, which the compiler includes. Both NULL: weights
     * are not embedded. */
    const unsigned char *embed;
    const char *embed_file;
    size_t embed_bytes;
} EmitOptions;
bool weights_embedded(const EmitOptions *o); /* true if `embed` or `embed_file`
                                              * is set */
const char *emit_model(Arena *a, const Plan *p, const EmitOptions *o,
                       size_t *n); /* model.c */
const char *emit_header(Arena *a, const Plan *p, const EmitOptions *o,
                        size_t *n); /* model.h */
/* Return attn.h and attn.c, the runtime of all models. The texts do not depend
 * on the plan. */
const char *emit_runtime_header(Arena *a, const Plan *p, size_t *n);
const char *emit_runtime_source(Arena *a, const Plan *p, size_t *n);
/* Returns true if the file of this model may have the part with these
 * options. */
bool file_has_part(const Plan *p, const EmitOptions *o, FilePart part);
/* Returns the name of the exported function number i, or NULL if there are
 * fewer. */
const char *emit_exported(Arena *a, const Plan *p, const EmitOptions *o, int i);
/* Return the maximum number of rows or tokens of an input, and of tokens of an
 * answer (0: no answers). */
int64_t longest_input(const Plan *p);
int64_t longest_output(const Plan *p);

/* ---- plain_file.c ---- */
/* Emits the model as plain C, for reading. The graph must be made without the
 * passes in plain_skip, which merge products. Uses only these options: command,
 * freestanding, embed, embed_bytes. */
extern const char *const plain_skip[2];
const char *emit_plain(Arena *a, const Plan *p, const EmitOptions *o,
                       size_t *n);
/* Return the first line of the weights file of plain C, and write the rest:
 * plain_image() writes the bytes of a struct to `to`, unless that is NULL, and
 * returns their number. */
const char *plain_magic(Arena *a, const Plan *p);
int64_t plain_image(unsigned char *to, Arena *a, const Plan *p,
                    const void *packed);

/* ---- task.c ---- */

/* Emits a single task of a plan with the model's code, for `attnc tune` to
 * time. `t`: a copy of the plan's task with any valid tiling. The text exports
 *     void attnc_task(void *const *at, const int64_t *n)
 * TaskMatmul, TaskSmallM: y [rows, columns from .. to - 1] of a product,
 *     at = { x, w, bias, y, residual }     NULL: absent
 *     n = { rows, from, to, ldx, ldy, ldr }     from, to: a thread's share,
 *     multiples of 16 * tiling.panels, or the end of the last panel
 * TaskAttention: one head's queries over keys in pages,
 *     at = { q, k, v, page, bias, y, scratch }    as in struct keys
 *     n = { ldq, rows, k_page, v_page, count, past, prefix, ldy }
 *     scratch: floats by task_shape() of the copy
 * Returns NULL for other kinds.                                             */
const char *emit_task(Arena *a, const Plan *p, const Task *t, EmitMode mode,
                      size_t *n);

#endif
