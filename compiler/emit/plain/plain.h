/* plain.h: the file of `attnc compile --plain`: plain_file.c puts its sections
 * together, plain_layers.c makes its functions, plain_calls.c and
 * plain_arguments.c the call of each op, plain_attention.c that of attention,
 * plain_names.c and plain_values.c say where values are, plain_weights.c where
 * weights are, plain_program.c makes the program.  */
#ifndef ATTNC_EMIT_PLAIN_H
#define ATTNC_EMIT_PLAIN_H

#include "emit/gen/gen.h"
#include "emit/gen/layer_loops.h"

/* What tells layers apart that are one function. */
enum {
    NumberWeights, /* the place of its weights in their array */
    NumberLayer,
    NumberSelf, /* the places of its keys and values in their arrays */
    NumberCross
};

/* What a function's body reads of its parameters. */
typedef struct {
    bool model, layer; /* weights: the model's, its layer's */
    bool number[LoopNumbers];
    bool rows, past, prefix;
} PlainUses;

typedef struct { /* an array of struct state */
    const char *name, *type;
    const char *extents; /* "[MAX_SOURCE * 32]" */
    const char *comment;
    int64_t size;
} StateMember;

/* Layers of one stack are alike if their bodies are the same, all of them. */
typedef struct {
    const char *name;
    Stack stack;
    const char *body, *text; /* text: with its head */
    PlainUses uses;
} PlainFunction;

typedef struct { /* keys and values whose rows are as wide */
    int of;      /* CacheSelf, CacheCross */
    int64_t columns[2];
    int64_t layers;
    const char *name[2];
} PlainCache;

typedef struct {
    Gen g;
    Emit *functions; /* that are made for the model: attention */
    VEC(StateMember) state;
    Index state_names;
    VEC(PlainFunction) function;
    VEC(PlainCache) cache;
    int *cache_of;     /* by node, of Append and Recall */
    int64_t *place;    /* the same: its layer's in that cache */
    const char **name; /* by node: of its value */
    const char **sum;  /* of a product, before something is added to it */
    bool *flows;       /* is it what layers hand on? */
    int *kept_by;      /* by node: the Append that it is made for; -1: none */
    bool *made;        /* by node: columns of others, which are copied once */
    bool same_numbers[LoopNumbers]; /* as NumberWeights, of all layers */
    PlainUses uses;                 /* of the body that is made now */
    const char *result;  /* where the next call's result goes; NULL: to its
                            node's own place */
    bool one_choice;     /* calls are of choice `c`, of expert `e` */
    int64_t decode_rows; /* rows that decode() takes at most */
} Plain;

/* ---- plain_names.c ---- */
void plain_name_values(Plain *p);

/* ---- plain_values.c ---- */
void plain_find_caches(Plain *p);
/* An array of the state, which is made where it is not there yet. */
const char *plain_member(Plain *p, const char *name, const char *type,
                         int64_t rows, const char *rows_text, int64_t columns,
                         const char *comment);
/* Returns the C expression for the `n` numbers that the layer of a node keeps
 * for its next call. They lie in an array named `base`; layers that keep
 * another number of them share an array of their own, base2, base3 and so on.
 */
const char *plain_left(Plain *p, int node, const char *base, int64_t n,
                       const char *comment);
void plain_source_rows(Plain *p); /* how long the source is, in the state */
/* Where a node's value is: "s->norm1"; of an input, the argument. */
const char *plain_value(Plain *p, int node);
const char *plain_sum(Plain *p, int node);
int plain_owner(const Plain *p, int node); /* the node that it is made by */
/* Keys or values of a layer in the state: "s->self_keys[l]". */
const char *plain_kept(Plain *p, int node);
const char *plain_kept_rows(Plain *p, int node); /* the new ones of them */
bool plain_made_in_cache(const Plain *p, int node);
int64_t plain_columns(const Node *n);       /* numbers in a row of a value */
const char *plain_rows(Plain *p, Type t);   /* "rows", "rows * 2", "1" */
const char *plain_bound(Plain *p, Type t);  /* the most: "MAX_SOURCE * 2" */
int64_t plain_most(const Plain *p, Type t); /* the same as a number */
/* Text of a number that tells layers apart; it is used from here on. */
const char *plain_number(Plain *p, int number);
const char *plain_past(Plain *p, int node); /* "past"; "0" in encode */
void emit_plain_state(Plain *p, Emit *e);

/* ---- plain_weights.c ---- */

/* What stands for weights in calls: "layer->norm1"; with `part` what integers
 * have beside them, "_scale".                                               */
const char *plain_weight(Plain *p, int root, const char *part);
const char *plain_block(Plain *p, int block);
void emit_plain_weights(Plain *p, Emit *e);

/* ---- plain_arguments.c ---- */

/* What a parameter of that name is given in the call of a node. */
const char *plain_argument(Plain *p, int node, const char *name);
const char *plain_float(Arena *a, double x); /* "1e-06f" */
/* "rows * 32": numbers of a value with so many columns. */
const char *plain_count(Plain *p, Type t, int64_t columns);
/* A table's row for the first new position. */
const char *plain_table_row(Plain *p, int node, int table);
Type plain_input_type(const Plain *p, int node, int k);
/* In a loop over choices: where that of choice `c` is. */
const char *plain_of_choice(Plain *p, const char *at, int64_t columns);

/* ---- plain_calls.c ---- */
typedef void PlainCall(Plain *p, Emit *e, int node);
/* What writes the plain C of an op, by the column `plain` of graph/ops.h. */
typedef struct {
    const char *piece;
    PlainCall *call;
} PlainOp;
bool plain_has(Op op);
void plain_node(Plain *p, Emit *e, int node);
/* A call of a function of kernels/plain.c, whose parameters' names say what it
 * gets.                                                                     */
void plain_piece(Plain *p, Emit *e, int node, const char *piece);

/* ---- plain_attention.c ---- */
PlainCall plain_attention;

/* ---- plain_layers.c ---- */
void emit_plain_entries(Plain *p, Emit *e);
/* The parameters of an entry, behind the first two. */
const char *plain_parameters(const Plain *p, Entry entry);
bool plain_reads(const Plain *p, BatchMember m);
bool plain_prefix(const Plain *p, Entry entry); /* is there one of a mask? */
const char *plain_entry_name(const Plain *p, Entry entry);

/* ---- plain_program.c ---- */
void emit_plain_program(Plain *p, Emit *e);

#endif
