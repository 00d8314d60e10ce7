/* plain.h: the file of `attnc compile --plain`. plain_file.c joins its
 * sections; plain_layers.c emits the functions of layers; plain_calls.c and
 * plain_arguments.c emit the call of each op, plain_attention.c that of
 * attention; plain_names.c and plain_values.c place the values, plain_weights.c
 * the weights; plain_program.c emits the program. */
#ifndef ATTNC_EMIT_PLAIN_H
#define ATTNC_EMIT_PLAIN_H

#include "emit/gen/gen.h"
#include "emit/gen/layer_loops.h"

/* Numbers that differ between layers of one function. */
enum {
    NumberWeights, /* index of its weights in their array */
    NumberLayer,
    NumberSelf, /* indices of its keys and values in their arrays */
    NumberCross
};

/* The parameters that a function's body reads. */
typedef struct {
    bool model, layer; /* weights of the model, of the layer */
    bool number[LoopNumbers];
    bool rows, past, prefix;
} PlainUses;

typedef struct { /* an array of struct state */
    const char *name, *type;
    const char *extents; /* "[MAX_SOURCE * 32]" */
    const char *comment;
    int64_t size;
} StateMember;

/* The function of layers of one stack whose bodies are all the same. */
typedef struct {
    const char *name;
    Stack stack;
    const char *body, *text; /* text: the body with its head */
    PlainUses uses;
} PlainFunction;

typedef struct { /* keys and values of layers with equal widths */
    int of;      /* CacheSelf, CacheCross */
    int64_t columns[2];
    int64_t layers;
    const char *name[2];
} PlainCache;

typedef struct {
    Gen g;
    Emit *functions; /* specific to the model: attention */
    VEC(StateMember) state;
    Index state_names;
    VEC(PlainFunction) function;
    VEC(PlainCache) cache;
    int *cache_of;     /* by node, for cache writes and reads */
    int64_t *place;    /* the same: its layer's index in that cache */
    const char **name; /* by node: name of its value */
    const char **sum;  /* by node: product before its residual is added */
    bool *flows;       /* by node: true if layers pass it on */
    int *kept_by;      /* by node: cache write that it is computed for, or -1 */
    bool *made;        /* by node: slice that is copied already */
    bool same_numbers[LoopNumbers]; /* equal to NumberWeights in all layers */
    PlainUses uses;                 /* by the body being emitted */
    const char *result;  /* destination of the next call; NULL: the default */
    bool one_choice;     /* calls are for choice `c` and its expert `e` */
    int64_t decode_rows; /* most rows that decode() takes */
} Plain;

/* ---- plain_names.c ---- */
void plain_name_values(Plain *p);

/* ---- plain_values.c ---- */
void plain_find_caches(Plain *p);
/* Returns an array of the state, which is added if it does not exist. */
const char *plain_member(Plain *p, const char *name, const char *type,
                         int64_t rows, const char *rows_text, int64_t columns,
                         const char *comment);
/* Returns the C expression for the `n` numbers that the layer of a node keeps
 * for its next call. They lie in an array named `base`; layers that keep
 * another number of them share an array of their own, base2, base3 and so on.
 */
const char *plain_left(Plain *p, int node, const char *base, int64_t n,
                       const char *comment);
void plain_source_rows(Plain *p); /* adds the source's length to the state */
/* Returns the address of a node's value, such as "s->norm1", or the argument of
 * an input. */
const char *plain_value(Plain *p, int node);
const char *plain_sum(Plain *p, int node);
int plain_owner(const Plain *p, int node); /* the node that computes it */
/* Returns the keys or values of a layer in the state: "s->self_keys[l]". */
const char *plain_kept(Plain *p, int node);
const char *plain_kept_rows(Plain *p, int node); /* the new rows */
bool plain_made_in_cache(const Plain *p, int node);
int64_t plain_columns(const Node *n);       /* numbers per row */
const char *plain_rows(Plain *p, Type t);   /* "rows", "rows * 2", "1" */
const char *plain_bound(Plain *p, Type t);  /* at most: "MAX_SOURCE * 2" */
int64_t plain_most(const Plain *p, Type t); /* as a number */
/* Returns the text of a number of the layer, and marks it as used. */
const char *plain_number(Plain *p, int number);
const char *plain_past(Plain *p, int node); /* "past"; "0" in encode */
void emit_plain_state(Plain *p, Emit *e);

/* ---- plain_weights.c ---- */

/* Returns the argument for weights: "layer->norm1"; with `part`, such as
 * "_scale", for an array that accompanies integers. */
const char *plain_weight(Plain *p, int root, const char *part);
const char *plain_block(Plain *p, int block);
void emit_plain_weights(Plain *p, Emit *e);

/* ---- plain_arguments.c ---- */

/* Returns the argument for a parameter of that name in the call of a node. */
const char *plain_argument(Plain *p, int node, const char *name);
const char *plain_float(Arena *a, double x); /* "1e-06f" */
/* "rows * 32": how many numbers a value with `columns` columns has. */
const char *plain_count(Plain *p, Type t, int64_t columns);
/* Returns the row of a table at the first new position. */
const char *plain_table_row(Plain *p, int node, int table);
Type plain_input_type(const Plain *p, int node, int k);
/* Returns the address for choice `c` in a loop over choices. */
const char *plain_of_choice(Plain *p, const char *at, int64_t columns);

/* ---- plain_calls.c ---- */
typedef void PlainCall(Plain *p, Emit *e, int node);
/* How the plain C of an op is emitted, from the column `plain` of
 * graph/ops.h. */
typedef struct {
    const char *piece;
    PlainCall *call;
} PlainOp;
bool plain_has(Op op);
void plain_node(Plain *p, Emit *e, int node);
/* Emits the call of a function of kernels/plain.c, whose parameters' names
 * determine the arguments. */
void plain_piece(Plain *p, Emit *e, int node, const char *piece);

/* ---- plain_attention.c ---- */
PlainCall plain_attention;

/* ---- plain_layers.c ---- */
void emit_plain_entries(Plain *p, Emit *e);
/* Returns all parameters of an entry. */
const char *plain_parameters(const Plain *p, Entry entry);
bool plain_reads(const Plain *p, BatchMember m);
bool plain_prefix(const Plain *p, Entry entry); /* a mask has one */
const char *plain_entry_name(const Plain *p, Entry entry);

/* ---- plain_program.c ---- */
void emit_plain_program(Plain *p, Emit *e);

#endif
