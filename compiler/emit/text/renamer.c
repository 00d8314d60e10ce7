/* renamer.c: puts a prefix before the names that a text defines. */
#include "emit/text/renamer.h"

#include <string.h>

#include "emit/text/c_tokens.h"
#include "emit/text/tree_shaker.h"

enum { MostBraces = 64, MostParameters = 16 };

typedef struct {
    Emit *e;
    const char *prefix;
    TreeShaker *names;
    Index others;
    Scan scan;
    const char *done; /* the text before it has been appended */
    int before;       /* the last token */
    bool tag;         /* `struct`, and perhaps its tag, precede */
    int depth;
    bool members[MostBraces]; /* the open braces enclose members */
    /* of the macro whose #define is being read */
    const char *macro_end;
    char parameter[MostParameters][MostName];
    int parameters;
} Renamer;

/* Returns the token after the current one. */
static int token_ahead(const Renamer *r)
{
    Scan s = r->scan;
    return next_token(&s);
}

static bool is_defined(const Renamer *r, const char *name)
{
    return shaker_has(r->names, name) || index_find(&r->others, name) >= 0;
}

static bool is_parameter(const Renamer *r, const char *name)
{
    for (int i = 0; r->scan.at < r->macro_end && i < r->parameters; i++)
        if (!strcmp(r->parameter[i], name))
            return true;
    return false;
}

/* True if the name is the first part of one that the preprocessor joins. */
static bool is_joined(const Renamer *r, const char *name)
{
    Scan s = r->scan;
    return next_token(&s) == '#' && next_token(&s) == '#'
        && !is_parameter(r, name);
}

/* True if the name is that of a member, which is being declared. */
static bool is_member(const Renamer *r)
{
    const int next = token_ahead(r);
    return r->depth > 0 && r->depth < MostBraces && r->members[r->depth]
        && (next == ';' || next == ',' || next == '[' || next == ')');
}

static void put_prefix(Renamer *r, const char *name)
{
    const char *at = r->scan.at - strlen(name);
    emit_raw(r->e, r->done, (size_t)(at - r->done));
    emit_raw(r->e, r->prefix, strlen(r->prefix));
    r->done = at;
}

static void read_name(Renamer *r)
{
    char name[MostName];
    memcpy(name, r->scan.name, sizeof name);
    if (is_tag(name)) {
        r->tag = true;
        if (take_tag(&r->scan) && is_defined(r, r->scan.name))
            put_prefix(r, r->scan.name + strlen("struct "));
        return;
    }
    if (r->before == '.' || r->before == '#' || is_member(r))
        return;
    if (is_joined(r, name) || is_defined(r, name))
        put_prefix(r, name);
}

/* Reads `define NAME(parameters)`, after the #. */
static void read_macro(Renamer *r)
{
    Scan s = r->scan;
    const char *end = s.at;
    while (end < s.end && (*end != '\n' || end[-1] == '\\'))
        end++;
    r->macro_end = end;
    r->parameters = 0;
    next_token(&s);
    if (s.at < s.end && *s.at != '(')
        return;
    for (int token; (token = next_token(&s)) != ')' && token != TokenEnd;)
        if (token == TokenName && r->parameters < MostParameters)
            memcpy(r->parameter[r->parameters++], s.name, MostName);
}

static void read_token(Renamer *r, int token)
{
    if (token == TokenName && r->before == '#'
        && !strcmp(r->scan.name, "define"))
        read_macro(r);
    else if (token == TokenName)
        read_name(r);
    if (token == '{' && ++r->depth < MostBraces)
        r->members[r->depth] = r->tag;
    if (token == '}')
        r->depth--;
    if (token != TokenName)
        r->tag = false;
}

/* Adds the macros that functions define for themselves. */
static void add_macros(Renamer *r)
{
    Arena *a = emit_arena(r->e);
    Scan s = r->scan;
    for (int token, before = 0; (token = next_token(&s)) != TokenEnd;
         before = token)
        if (token == TokenName && before == '#' && !strcmp(s.name, "define")
            && next_token(&s) == TokenName && !is_defined(r, s.name))
            index_add(a, &r->others, arena_strdup(a, s.name), 0);
}

void rename_all(Emit *e, const char *text, size_t n, const char *prefix,
                NameList others)
{
    Arena *a = emit_arena(e);
    Renamer r = { .e = e,
                  .prefix = prefix,
                  .names = shaker_new(a),
                  .scan = { .at = text, .end = text + n },
                  .done = text };
    shaker_add(r.names, 0, text, n);
    for (int i = 0; i < others.n; i++)
        index_add(a, &r.others, others.at[i], i);
    add_macros(&r);
    for (int token; (token = next_token(&r.scan)) != TokenEnd;) {
        read_token(&r, token);
        r.before = token;
    }
    emit_raw(e, r.done, (size_t)(text + n - r.done));
}
