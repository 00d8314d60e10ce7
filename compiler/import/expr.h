/* expr.h: expressions of a rule file, parsed once and evaluated for a
 * folder. */
#ifndef ATTNC_IMPORT_EXPR_H
#define ATTNC_IMPORT_EXPR_H

#include "import/value.h"

typedef enum {
    ExprLiteral, /* value */
    ExprName,    /* text: "hidden_size", "generation.eos_token_id" */
    ExprList,    /* in: its items */
    ExprUnary,   /* text: "-", "not"; in[0] */
    ExprBinary,  /* text: the operator, such as "+"; in[0], in[1] */
    ExprChoice,  /* if in[0] then in[1] else in[2] */
    ExprCall,    /* text: the function's name; in: its arguments */
    ExprIndex,   /* in[0][in[1]] */
    ExprMember   /* the key `text` of in[0] */
} ExprKind;

typedef struct Expr Expr;
struct Expr {
    ExprKind kind;
    Pos pos;
    const char *text;
    Datum value;
    VEC(Expr *) in;
};

/* Parses the expression in a scalar, from byte `start` of its text. Returns
 * NULL after reporting an error. */
Expr *expr_parse(Arena *a, const Yaml *scalar, size_t start);

/* Gives expressions access to names, tables, files and tensors. */
typedef struct Scope Scope;
struct Scope {
    Arena *arena;
    void *of; /* the owner, for the callbacks below */
    /* Returns false if there is no such name. If its value cannot be computed,
     * reports an error and sets *to to none. */
    bool (*name)(Scope *s, const Expr *e, const char *name, Datum *to);
    const Datum *(*table)(Scope *s, const char *name); /* NULL: none */
    bool (*has_file)(Scope *s, const char *name);
    bool (*has_key)(Scope *s, const char *path);
    const Safetensors *tensors; /* NULL: not opened */
    int failures;               /* number of errors reported */
};

/* Returns the value of an expression; none after reporting and counting an
 * error. */
Datum expr_value(Scope *s, const Expr *e);
bool expr_truth(Scope *s, const Expr *e); /* the value of a condition */
bool expr_is_function(const char *name);
/* functions.c: calls a function with the values of its arguments. */
Datum expr_call(Scope *s, const Expr *e, const Datum *argument);
/* scope.c: reports an error at a position and returns none. */
Datum expr_error(Scope *s, Pos pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
