/* schema_parts.h: what the files of this directory share. Each schema inside a
 * schema becomes a rule, whose number is its place in the list. */
#ifndef ATTNC_SCHEMA_PARTS_H
#define ATTNC_SCHEMA_PARTS_H

#include "runtime/base/json.h"
#include "schema/schema.h"

typedef struct {
    const json_t *of;
    const char *pointer;
} SchemaRule;

typedef enum { /* rules of schema_text.c, which a grammar has if it uses them */
               TextValue,
               TextObject,
               TextArray,
               TextMember,
               TextNumber,
               TextInteger,
               TextString,
               TextCharacter,
               TextPlain,
               TextDate,
               TextTime,
               TextHex,
               TextRules
} TextRule;

typedef struct {
    Arena *arena;
    Buffer *to;    /* the grammar */
    Buffer *later; /* rules that follow the one that is being written */
    const char *path;
    const json_t *top;
    Fault *why;
    VEC(SchemaRule) rule;
    bool used[TextRules];
} Schema;

/* Types of values, as bits. */
enum {
    TypeNull = 1,
    TypeBoolean = 2,
    TypeInteger = 4,
    TypeNumber = 8, /* also integers */
    TypeString = 16,
    TypeArray = 32,
    TypeObject = 64,
    TypeAll = 127
};

/* ---- schema_parts.c ---- */
/* Sets the fault to a message about the part at a pointer. Returns false. */
bool schema_refuse(Schema *s, const char *pointer, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the pointer to a member of what is at `pointer`. */
const char *schema_below(Schema *s, const char *pointer, const char *key);
/* Returns the number of the rule for a schema. */
int schema_rule(Schema *s, const json_t *schema, const char *pointer);
/* Reads a count, such as minItems, which stays as it is if there is none. */
bool schema_count(Schema *s, const json_t *schema, const char *pointer,
                  const char *key, int64_t *to);

/* ---- schema_facts.c ---- */
/* Checks that all keywords are known, and that those that exclude others are
 * alone. */
bool schema_keywords(Schema *s, const json_t *schema, const char *pointer);
/* Sets the types of the values to write: those of `type`, or those that the
 * other keywords are about. */
bool schema_types(Schema *s, const json_t *schema, const char *pointer,
                  unsigned *types);
unsigned schema_type_of(const json_t *value);
/* Returns the schema to which a $ref leads, or NULL after a message. */
const json_t *schema_follow(Schema *s, const json_t *schema,
                            const char *pointer, const char **to);
/* Checks that no value matches two of the schemas. */
bool schema_disjoint(Schema *s, const json_t *list, const char *pointer);

/* ---- schema_values.c ---- */
bool schema_object(Schema *s, const json_t *schema, const char *pointer);
bool schema_array(Schema *s, const json_t *schema, const char *pointer);

/* ---- schema_number.c ---- */
bool schema_number(Schema *s, const json_t *schema, const char *pointer,
                   bool integer);

/* ---- schema_text.c ---- */
bool schema_string(Schema *s, const json_t *schema, const char *pointer);
/* Adds a text as a quoted one of GBNF. */
void schema_literal(Buffer *b, const char *text);
/* Adds the name of a rule, which the grammar then has. */
void schema_use(Schema *s, Buffer *b, TextRule rule);
/* Adds what matches a name that is none of the given, without its quotes. */
void schema_other_names(Schema *s, Buffer *b, const char **names, int n);
/* Adds the rules that are used. */
void schema_text_rules(Schema *s);

#endif
