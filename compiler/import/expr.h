/* expr.h: expressions in rule files. Each is parsed once and evaluated for each
 * folder. */
#ifndef ATTNC_IMPORT_EXPR_H
#define ATTNC_IMPORT_EXPR_H

#include "import/value.h"

typedef enum {
    ExprLiteral, /* a literal, in `value` */
    ExprName,    /* name in `text`: "hidden_size", "generation.eos_token_id" */
    ExprList,    /* a list; its items are in `in` */
    ExprUnary,   /* operator in `text`: "-" or "not"; operand in[0] */
    ExprBinary,  /* operator in `text`, such as "+"; operands in[0] and in[1] */
    ExprChoice,  /* if in[0] then in[1] else in[2] */
    ExprCall,    /* a call of the function `text` with the arguments `in` */
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
    void *of; /* argument of the callbacks below */
    /* Returns false if the name does not exist. If its value cannot be
     * computed, reports an error and sets *to to none. */
    bool (*name)(Scope *s, const Expr *e, const char *name, Datum *to);
    const Datum *(*table)(Scope *s, const char *name); /* Returns the table of
                                                        * this name; NULL if
                                                        * there is none. */
    /* `text`: the file must contain it; NULL: any file. */
    bool (*has_file)(Scope *s, const char *name, const char *text);
    bool (*has_key)(Scope *s, const char *path);
    /* Returns the id of a token, or that of the mask token or else the end
     * token if `text` is NULL; -1: the folder's tokenizer has none. */
    int64_t (*token)(Scope *s, const char *text);
    /* Returns the text of this name that the folder's chat template writes
     * around a query and a document; NULL: none. */
    const char *(*pair)(Scope *s, const char *name, bool generates);
    const Safetensors *tensors; /* the weights; NULL: not opened */
    int failures;               /* number of errors reported so far */
};

/* Returns the value of an expression. After an error, which it reports and
 * counts, returns none. */
Datum expr_value(Scope *s, const Expr *e);
bool expr_truth(Scope *s, const Expr *e); /* returns the value of a condition */
bool expr_is_function(const char *name);
/* functions.c: calls a function with the values of its arguments. */
Datum expr_call(Scope *s, const Expr *e, const Datum *argument);
/* scope.c: reports an error at a position and returns none. */
Datum expr_error(Scope *s, Pos pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
