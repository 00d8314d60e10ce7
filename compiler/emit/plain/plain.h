/* plain.h: the file of `attnc compile --plain`. plain_file.c joins its
 * sections; plain_layers.c emits the functions of layers; plain_calls.c and
 * plain_arguments.c emit the call for each op, plain_attention.c attention;
 * plain_names.c and plain_values.c place the values, plain_weights.c the
 * weights; plain_program.c emits the program. */
#ifndef ATTNC_EMIT_PLAIN_H
#define ATTNC_EMIT_PLAIN_H

#include "emit/gen/gen.h"
#include "emit/gen/layer_loops.h"

/* numbers that may differ between the layers that share a function */
enum {
    NumberWeights, /* index of the layer's weights in their array */
    NumberLayer,
    NumberSelf, /* indices of the layer's keys and values in their arrays */
    NumberCross
};

typedef struct { /* an array in struct state */
    const char *name, *type;
    const char *extents; /* extents as C: "[MAX_SOURCE * 32]" */
    const char *comment;
    int64_t size;
} StateMember;

typedef struct {
    Gen g;
    Emit *functions; /* functions that only this model needs: attention */
    VEC(StateMember) state;
    Index state_names;
    const char **name; /* [nodes]: name of the value */
    const char **sum;  /* [nodes]: name of a product's value before the residual
                        * is added */
    bool *flows;       /* [nodes]: the value flows from layer to layer */
    int *kept_by;      /* [nodes]: the cache write that the value is computed
                        * for, or -1 */
    bool *made;        /* [nodes]: a slice that has been copied */
    bool same_numbers[LoopNumbers]; /* equals NumberWeights in all layers, so
                                     * that one parameter serves both */
    bool one_choice;     /* calls are for one selected expert, `e`, the row's
                          * choice `c` */
    int64_t decode_rows; /* maximum rows per call of decode() */
} Plain;

/* ---- plain_names.c ---- */
void plain_name_values(Plain *p);

/* ---- plain_values.c ---- */
/* Finds values that are only written to a cache, so that they can be computed
 * in place there. */
void plain_find_kept(Plain *p);
/* Returns the index of the node's layer in the arrays of the cache that the
 * node writes or reads. */
int64_t plain_place(const Plain *p, const Node *n);
/* Returns an array of struct state, adding it if it does not exist. */
const char *plain_member(Plain *p, const char *name, const char *type,
                         int64_t rows, const char *rows_text, int64_t columns,
                         const char *comment);
/* Returns C for the `n` numbers that a node's layer stores for its next call.
 * The array is named `base`; layers that store a different number use arrays
 * base2, base3, etc. */
const char *plain_left(Plain *p, int node, const char *base, int64_t n,
                       const char *comment);
void plain_source_rows(Plain *p); /* adds the source's length to struct state */
/* Returns C for the address of a node's value, e.g. "s->norm1", or the name of
 * the parameter if the node is an input. */
const char *plain_value(Plain *p, int node);
const char *plain_sum(Plain *p, int node);
/* Returns the node that computes the value. */
int plain_owner(const Plain *p, int node);
/* Returns C for a layer's keys or values in the state, e.g.
 * "s->self_keys[l]". */
const char *plain_kept(Plain *p, int node);
/* Returns C for the scales of a layer's kept rows or, if `new` is set, for
 * those of the new rows. */
const char *plain_kept_scales(Plain *p, int node, bool new);
const char *plain_kept_rows(Plain *p, int node); /* likewise, for the new
                                                  * rows */
int64_t plain_columns(const Node *n); /* returns the numbers per row */
/* Returns C for the number of rows: "rows", "rows * 2", "1". */
const char *plain_rows(Plain *p, Type t);
extern const char *const plain_numbers[LoopNumbers]; /* their names in C */
const char *plain_integer(Arena *a, int64_t n);      /* returns "512" */
/* Returns C for a number of the layer, and marks the number as used. */
const char *plain_number(Plain *p, int number);
const char *plain_past(Plain *p, int node); /* "past" or, in encode, "0" */
void emit_plain_state(Plain *p, Emit *e);

/* ---- plain_weights.c ---- */

/* Returns the argument for weights, "layer->norm1". If `part` is e.g. "_scale",
 * returns that array of integer weights. */
const char *plain_weight(Plain *p, int root, const char *part);
const char *plain_block(Plain *p, int block);
void emit_plain_weights(Plain *p, Emit *e);

/* ---- plain_arguments.c ---- */

/* Returns the argument that a call for the node passes as the parameter
 * `name`. */
const char *plain_argument(Plain *p, int node, const char *name);
const char *plain_float(Arena *a, double x); /* a float literal: "1e-06f" */
/* Returns C for the size of a value with `columns` numbers per row: "rows *
 * 32". */
const char *plain_count(Plain *p, Type t, int64_t columns);
/* Returns C for the table's row at the first new position. */
const char *plain_table_row(Plain *p, int node, int table);
Type plain_input_type(const Plain *p, int node, int k);
/* Returns C for the address of choice `c` in a loop over choices. */
const char *plain_of_choice(Plain *p, const char *at, int64_t columns);

/* ---- plain_calls.c ---- */
void plain_node(Plain *p, Emit *e, int node);

/* ---- plain_attention.c ---- */
void plain_attention(Plain *p, Emit *e, int node);

/* ---- plain_layers.c ---- */
void emit_plain_entries(Plain *p, Emit *e);
bool plain_reads(const Plain *p, BatchMember m);
bool plain_prefix(const Plain *p, Entry entry); /* true if a mask has a
                                                   prefix */
const char *plain_entry_name(const Plain *p, Entry entry);

/* ---- plain_program.c ---- */
void emit_plain_program(Plain *p, Emit *e);

#endif
