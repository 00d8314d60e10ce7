/* expr.h: expressions of a rule file: read once, evaluated against a folder. */
#ifndef ATTNC_IMPORT_EXPR_H
#define ATTNC_IMPORT_EXPR_H

#include "import/value.h"

typedef enum {
    ExprLiteral, /* value */
    ExprName,    /* text: "hidden_size", "generation.eos_token_id" */
    ExprList,    /* in: its items */
    ExprUnary,   /* text: "-", "not"; in[0] */
    ExprBinary,  /* text: "+" ..; in[0], in[1] */
    ExprChoice,  /* if in[0] then in[1] else in[2] */
    ExprCall,    /* text: the function's name; in: its arguments */
    ExprIndex,   /* in[0] of in[1] */
    ExprMember   /* in[0]'s key `text` */
} ExprKind;

typedef struct Expr Expr;
struct Expr {
    ExprKind kind;
    Pos pos;
    const char *text;
    Datum value;
    VEC(Expr *) in;
};

/* The expression of a scalar, from byte `start` of its text. NULL after an
 * error has been reported.                                                  */
Expr *expr_parse(Arena *a, const Yaml *scalar, size_t start);

/* What names stand for, and what functions look at. */
typedef struct Scope Scope;
struct Scope {
    Arena *arena;
    void *of; /* the scope's owner, for the three below */
    /* False: there is none of that name. A value that can't be had is an error
     * that has been reported, and none.                                     */
    bool (*name)(Scope *s, const Expr *e, const char *name, Datum *to);
    const Datum *(*table)(Scope *s, const char *name); /* NULL: none */
    bool (*has_file)(Scope *s, const char *name);
    bool (*has_key)(Scope *s, const char *path);
    const Safetensors *tensors; /* NULL: not opened */
    int failures;               /* errors that were reported */
};

/* After an error, which is reported and counted: none. */
Datum expr_value(Scope *s, const Expr *e);
bool expr_truth(Scope *s, const Expr *e); /* of a condition */
bool expr_is_function(const char *name);
/* functions.c: of a call, whose arguments have these values. */
Datum expr_call(Scope *s, const Expr *e, const Datum *argument);
/* scope.c: reports an error at a place; the value none. */
Datum expr_error(Scope *s, Pos pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
