/* jinja.h: renders chat templates: the part of the language Jinja that they
 * use, with the settings of transformers (trim_blocks and lstrip_blocks). A
 * template may come from anyone: depth, work and memory are bounded. */
#ifndef ATTNC_IMPORT_JINJA_H
#define ATTNC_IMPORT_JINJA_H

#include "import/value.h"

typedef enum {
    NodeText, /* `text` is printed as it is */
    NodePrint,
    NodeIf,  /* if in[0] then `body`, else `other` */
    NodeFor, /* for `names` in in[0], if in[1]: `body`; without items: other */
    NodeSet, /* `text` = in[0], or the output of `body`; in[1]: a member */
    NodeMacro, /* macro `text` with the parameters `names`, their defaults in */
    NodeBody,  /* `body` */
    NodeBreak,
    NodeContinue,
    NodeLiteral, /* `value` */
    NodeName,
    NodeList,
    NodeMap,      /* keys and values in turn */
    NodeMember,   /* in[0].text */
    NodeIndex,    /* in[0][in[1]] */
    NodeSlice,    /* in[0][in[1]:in[2]:in[3]]; a part may be NULL */
    NodeFunction, /* text(arguments from in[1] on) */
    NodeMethod,   /* in[0].text(arguments from in[1] on) */
    NodeFilter,   /* in[0] | text(arguments from in[1] on) */
    NodeTest,     /* in[0] is text(in[1]) */
    NodeUnary,    /* operator `text` */
    NodeBinary,
    NodeChoice /* in[1] if in[0] else in[2], which may be NULL */
} JinjaKind;

typedef struct JinjaNode JinjaNode;
typedef VEC(JinjaNode *) JinjaNodes;
struct JinjaNode {
    JinjaKind kind;
    int line;         /* in the template, from 1 */
    const char *text; /* operator or name */
    const char *key;  /* name of this argument in a call; NULL: none */
    Datum value;
    JinjaNodes in, body, other;
    VEC(const char *) names;
};

typedef struct { /* why a template cannot be used */
    const char *why;
    int line; /* in the template, from 1 */
} JinjaFault;

/* Parses a template. Returns NULL, with *why, if it is invalid or uses what is
 * not supported. */
const JinjaNode *jinja_parse(Arena *a, const char *text, JinjaFault *why);
/* Renders a parsed template with the variables of a map. Returns NULL, with
 * *why, if the template raises an exception, is not supported, or exceeds its
 * bounds. The date of strftime_now() is 26 July 2024, and *dated is set if the
 * template asks for it. */
const char *jinja_render(Arena *a, const JinjaNode *top, const Datum *variables,
                         bool *dated, JinjaFault *why);

/* ---- jinja_value.c, jinja_call.c: for the evaluator ---- */
typedef struct { /* a rendering */
    Arena *arena;
    JinjaFault *why;
    int64_t fuel; /* steps and bytes that are left */
    bool dated;
    VEC(Datum) spaces; /* maps of the namespaces */
} JinjaState;

/* Records the first fault. Returns undefined. */
Datum jinja_fault(JinjaState *s, const JinjaNode *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns false, after a fault, if fewer than n units are left. */
bool jinja_spend(JinjaState *s, const JinjaNode *e, int64_t n);
bool jinja_truth(const Datum *v);
bool jinja_same(JinjaState *s, const JinjaNode *e, const Datum *a,
                const Datum *b);
/* Spends the work of reading a value once. */
void jinja_read(JinjaState *s, const JinjaNode *e, const Datum *v);
/* Returns true if the list, map or text `in` has x. */
bool jinja_in(JinjaState *s, const JinjaNode *e, const Datum *x,
              const Datum *in);
/* Returns a value as Python's str() has it. */
const char *jinja_text(JinjaState *s, const JinjaNode *e, const Datum *v);
Datum jinja_words(JinjaState *s, const JinjaNode *e, const char *text,
                  int64_t n);
/* Return a new list, or map, of n items. */
Datum jinja_list(JinjaState *s, const JinjaNode *e, const Datum *items, int n);
Datum jinja_map(JinjaState *s, const JinjaNode *e, const Datum *items,
                const char *const *keys, int n);
/* Returns the items that a loop visits: of a list, the keys of a map, the
 * characters of a text. */
Datum jinja_items(JinjaState *s, const JinjaNode *e, const Datum *of);
/* Returns of[from:to:step]; a bound that is not an integer is absent. */
Datum jinja_slice(JinjaState *s, const JinjaNode *e, const Datum *of,
                  const Datum *bound);
/* Returns an item of a list, map or text; undefined if it is absent. */
Datum jinja_item(JinjaState *s, const JinjaNode *e, const Datum *of,
                 const Datum *key);
Datum jinja_binary(JinjaState *s, const JinjaNode *e, const Datum *x,
                   const Datum *y);
/* Calls a filter, a method, a test or a function: argument[0] is the value
 * that it is applied to, and n counts it. */
Datum jinja_call(JinjaState *s, const JinjaNode *e, const Datum *argument,
                 int n);

#endif
