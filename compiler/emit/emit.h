/* emit.h: a plan as C text: a model's file, its header, or one task alone.
 * The plan has decided everything; what stands in a text hangs on nothing else.
 *
 * In:  a Plan, and how its text is used.
 * Out: C text in the arena, to be compiled (backend) or written to a file.
 * Other public headers: embedded.h, parts.h. */
#ifndef ATTNC_EMIT_H
#define ATTNC_EMIT_H

#include "plan/plan.h"

/* ---- model.c ---- */
typedef enum {
    EmitAot,   /* a file of its own: the model, its search, text, a program */
    EmitModel, /* of that what NAME_model() calls: for this process, by a C
                  compiler */
    EmitJit    /* the same by libtcc, over kernels that are compiled already */
} EmitMode;
typedef struct Timers {         /* a clock in the model's steps: for attnc
                                   bench, whose text is for this process */
    void (*tick)(int64_t slot); /* called when a step's function begins, and
                                   with the next slot when it ends */
    int *slot;                  /* filled in, by place in the plan's order:
                                   the slot of its function's end */
    const char **name;          /* by region: what it is called */
    int slots;                  /* and how many there are */
} Timers;
/* The parts of a file beside the model's own calls: rows of parts.h. */
typedef enum {
#define PART(id, ...) File##id,
#include "emit/parts.h"
    FileParts
} FilePart;
typedef struct {
    EmitMode mode;
    Timers *timers;      /* NULL: none */
    const char *command; /* canonical command line for the header */
    const char *file;    /* "model": what model.c and others are called */
    bool freestanding;   /* no files, printing, allocation, threads: neither a
                            model that is open nor the program */
    unsigned left_out;   /* bits, 1 << FileText and so on: parts that the text
                            is without */
    /* the vocabularies of source and target, whose kinds and steps the text has
     * code for; NULL: there is none. Both: not at hand, so it has all code  */
    const void *vocab[2];
    int64_t max_input, /* the lengths whose memory its header has as macros; */
        max_output;    /* 0: the model's */
    /* --embed: the whole model.weights file as a literal, or the name of such a
     * file, which is taken in when the text is compiled; both NULL: outside */
    const unsigned char *embed;
    const char *embed_file;
    size_t embed_bytes;
} EmitOptions;
bool weights_embedded(const EmitOptions *o); /* is one of the two given? */
const char *emit_model(Arena *a, const Plan *p, const EmitOptions *o,
                       size_t *n); /* model.c */
const char *emit_header(Arena *a, const Plan *p, const EmitOptions *o,
                        size_t *n); /* model.h */
/* True if a file of this model may have the part, with these options. */
bool file_has_part(const Plan *p, const EmitOptions *o, FilePart part);
/* The functions that it has, one after the other; NULL behind the last. */
const char *emit_exported(Arena *a, const Plan *p, const EmitOptions *o, int i);
/* The most rows or tokens of an input, and tokens of an answer (0: none). */
int64_t longest_input(const Plan *p);
int64_t longest_output(const Plan *p);

/* ---- plain_file.c ---- */
/* The same model as plain C, for reading; of a graph whose products were not
 * merged (passes that are left out: plain_skip). Of EmitOptions it takes
 * command, freestanding, embed, embed_bytes.                                */
extern const char *const plain_skip[2];
const char *emit_plain(Arena *a, const Plan *p, const EmitOptions *o,
                       size_t *n);
/* Its file of weights: a line, then the struct's bytes. The bytes of the struct
 * are written to `to`, if it is not NULL; returns how many they are.        */
const char *plain_magic(Arena *a, const Plan *p);
int64_t plain_image(unsigned char *to, Arena *a, const Plan *p,
                    const void *packed);

/* ---- task.c ---- */

/* One task of a plan alone, as its model has it, for `attnc tune` to time: a
 * copy of the plan's with any valid tiling; a product of a small M goes the way
 * that the plan, or the copy, has for it. The text exports
 *     void attnc_task(void *const *at, const int64_t *n)
 * TaskMatmul, TaskSmallM: y [rows, columns from .. to - 1] of a product,
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
