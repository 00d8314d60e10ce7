/* tree_shaker.c: the tree shaker. It splits a file into pieces of complete
 * lines: pieces with names (functions, types, tables and prototypes), and the
 * comments, directives and empty lines between them. */
#include "emit/text/tree_shaker.h"

#include "emit/text/c_tokens.h"

#include <string.h>

typedef enum {
    PieceBlank,
    PieceComment,
    PieceLine, /* a comment of dashes that begins a section */
    PieceIf,
    PieceElse,
    PieceEndif,
    PieceGuard, /* #define without a value */
    PieceItem   /* a piece that defines or declares names */
} PieceKind;

typedef struct {
    PieceKind kind;
    const char *at, *end;
    bool needed;
    bool omitted; /* a prototype whose function comes before all calls, its
                   * comment, or a line of an include guard */
    int comment;  /* index of the comment of an omitted prototype of this
                   * function; 0: none */
} Piece;

typedef struct {
    int part, first, end; /* pieces first .. end - 1 */
} ShakerFile;

typedef struct {     /* a definition or declaration of a name */
    int piece, next; /* index of the piece; index of the next definition of the
                      * name, or -1 */
} Definition;

struct TreeShaker {
    Arena *a;
    VEC(Piece) pieces;
    VEC(ShakerFile) files;
    VEC(Definition) definitions;
    Index names;    /* first Definition by name; types are named "struct x" */
    VEC(int) found; /* needed pieces not yet searched for names */
};

static int deeper(int token)
{
    if (token == '(' || token == '[' || token == '{')
        return 1;
    return token == ')' || token == ']' || token == '}' ? -1 : 0;
}

/* ---- names ---- */

static void define(TreeShaker *c, int piece, const char *name)
{
    const int first = index_find(&c->names, name);
    Definition d = { piece, -1 };
    if (first < 0) {
        index_add(c->a, &c->names, arena_strdup(c->a, name), c->definitions.n);
    } else {
        d.next = c->definitions.at[first].next;
        c->definitions.at[first].next = c->definitions.n;
    }
    vec_push(c->a, &c->definitions, d);
}

/* Defines the constants of an enumeration, after its open brace. */
static void define_constants(TreeShaker *c, int piece, Scan *s)
{
    int token, before = ',', depth = 0;
    while ((token = next_token(s)) != TokenEnd && depth >= 0) {
        if (token == TokenName && before == ',' && depth == 0)
            define(c, piece, s->name);
        depth += deeper(token);
        before = token;
    }
}

/* Defines the name of a function pointer, (*name[])(...), which is the last
 * name before the bracket or parenthesis. */
static bool define_pointer(TreeShaker *c, int piece, const Scan *from)
{
    Scan s = *from;
    char last[MostName] = "";
    int token = next_token(&s);
    if (token != '*')
        return false;
    while ((token = next_token(&s)) == TokenName)
        memcpy(last, s.name, sizeof last);
    define(c, piece, last);
    return true;
}

/* Skips a group in parentheses. */
static void skip_parentheses(Scan *s)
{
    int depth = 0, token;
    do {
        token = next_token(s);
        depth += deeper(token);
    } while (depth > 0 && token != TokenEnd);
}

/* True for a call of a macro, a line without a type before its name. */
static bool is_call(const char *at, const char *end)
{
    Scan s = { .at = at, .end = end };
    return next_token(&s) == TokenName && s.at < end && *s.at == '('
        && strcmp(s.name, "_Static_assert") != 0;
}

/* Defines the names in a piece: the name of its type, and the name before
 * parameters, a value, a size, or the end. */
static void define_item(TreeShaker *c, int piece)
{
    const Piece *p = &c->pieces.at[piece];
    Scan s = { .at = p->at, .end = p->end };
    char last[MostName] = "", tag[MostName] = "";
    int depth = 0, token;
    if (*p->at == '#') { /* #define NAME ... */
        next_token(&s);
        next_token(&s);
        if (next_token(&s) == TokenName)
            define(c, piece, s.name);
        return;
    }
    if (is_call(p->at, p->end)) { /* it defines its first argument */
        next_token(&s);
        next_token(&s);
        if (next_token(&s) == TokenName)
            define(c, piece, s.name);
        return;
    }
    while ((token = next_token(&s)) != TokenEnd) {
        const bool front = depth == 0;
        depth += deeper(token);
        if (!front)
            continue;
        if (token == TokenName && !strcmp(s.name, "__attribute__")) {
            skip_parentheses(&s);
            continue;
        }
        if (token == TokenName && !strcmp(s.name, "enum")) {
            next_token(&s); /* skip its brace */
            define_constants(c, piece, &s);
            return;
        }
        if (token == TokenName && is_tag(s.name)) {
            if (take_tag(&s))
                memcpy(tag, s.name, sizeof tag);
            *last = '\0';
        } else if (token == TokenName) {
            memcpy(last, s.name, sizeof last);
        } else if (token == '{' && *tag && !*last) {
            define(c, piece, tag);
        } else if (token == '(' && define_pointer(c, piece, &s)) {
            return;
        } else if (token == ',') {
            define(c, piece, last);
        } else if (token == '(' || token == '[' || token == '='
                   || token == ';') {
            define(c, piece, *last ? last : tag);
            return;
        }
    }
}

/* ---- pieces ---- */

static const char *line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : end;
}

static PieceKind directive(const char *at, const char *end)
{
    if (begins(at, end, "#if"))
        return PieceIf;
    if (begins(at, end, "#el"))
        return PieceElse;
    if (begins(at, end, "#endif"))
        return PieceEndif;
    if (begins(at, end, "#define")) {
        const char *name = at + strlen("#define ");
        return memchr(name, ' ', (size_t)(end - name)) ? PieceItem : PieceGuard;
    }
    return PieceBlank; /* an #include; the output has these at its top */
}

/* Returns the end of the line that contains `at`, including comments that begin
 * in this line. */
static const char *whole_line_end(const char *at, const char *end)
{
    const char *line = line_end(at, end);
    for (; at < line; at++)
        if (begins(at, end, "/*")) {
            at = behind(at, end) - 1;
            line = line_end(at, end);
        }
    return line;
}

/* Returns the end of the line with the last brace or semicolon of a piece. */
static const char *item_end(const char *at, const char *end)
{
    Scan s = { .at = at, .end = end };
    int depth = 0, token;
    if (is_call(at, end)) {
        next_token(&s);
        skip_parentheses(&s);
        return whole_line_end(s.at, end);
    }
    while ((token = next_token(&s)) != TokenEnd) {
        depth += deeper(token);
        if (depth > 0)
            continue;
        if (token == ';' || (token == '}' && s.at < end && *s.at == '\n'))
            break;
    }
    return whole_line_end(s.at, end);
}

static Piece piece_at(const char *at, const char *end)
{
    Piece p = { .kind = PieceItem, .at = at, .end = whole_line_end(at, end) };
    if (*at == '\n') {
        p.kind = PieceBlank;
    } else if (*at == '#') {
        while (p.end - at > 1 && p.end[-2] == '\\' && p.end < end)
            p.end = whole_line_end(p.end, end);
        p.kind = directive(at, p.end);
    } else if (begins(at, end, "/*")) {
        p.kind = begins(at, end, "/* ---") ? PieceLine : PieceComment;
        p.end = line_end(behind(at, end) - 1, end);
    } else {
        p.end = item_end(at, end);
    }
    return p;
}

TreeShaker *shaker_new(Arena *a)
{
    TreeShaker *c = arena_alloc(a, sizeof *c);
    c->a = a;
    return c;
}

/* Returns the index of the #endif that belongs to the #if at i. */
static int endif_of(const TreeShaker *c, int i, int end)
{
    int depth = 0;
    for (; i < end; i++) {
        depth += c->pieces.at[i].kind == PieceIf;
        depth -= c->pieces.at[i].kind == PieceEndif;
        if (depth == 0)
            return i;
    }
    return end;
}

/* Omits the lines of include guards: an output has each file once. */
static void omit_guards(TreeShaker *c, int first, int end)
{
    Piece *p = c->pieces.at;
    for (int i = first; i + 1 < end; i++) {
        if (p[i].kind != PieceIf || p[i + 1].kind != PieceGuard)
            continue;
        p[i].omitted = p[i + 1].omitted = true;
        p[endif_of(c, i, end)].omitted = true;
    }
}

void shaker_add(TreeShaker *c, int part, const char *text, size_t n)
{
    const char *end = text + n;
    ShakerFile f = { .part = part, .first = c->pieces.n };
    while (text < end) {
        const Piece p = piece_at(text, end);
        vec_push(c->a, &c->pieces, p);
        if (p.kind == PieceItem)
            define_item(c, c->pieces.n - 1);
        text = p.end;
    }
    f.end = c->pieces.n;
    vec_push(c->a, &c->files, f);
    omit_guards(c, f.first, f.end);
}

bool shaker_has(const TreeShaker *c, const char *name)
{
    return index_find(&c->names, name) >= 0;
}

/* ---- needs ---- */

static void need(TreeShaker *c, const char *name)
{
    for (int d = index_find(&c->names, name); d >= 0;) {
        const Definition *its = &c->definitions.at[d];
        Piece *p = &c->pieces.at[its->piece];
        if (!p->needed)
            vec_push(c->a, &c->found, its->piece);
        p->needed = true;
        d = its->next;
    }
}

/* Marks all names in a text as needed, except names of members. */
static void need_names(TreeShaker *c, const char *text, const char *end)
{
    Scan s = { .at = text, .end = end };
    int token, before = 0;
    while ((token = next_token(&s)) != TokenEnd) {
        const bool member = before == '.';
        before = token;
        if (token != TokenName || member)
            continue;
        if (!is_tag(s.name) || take_tag(&s))
            need(c, s.name);
    }
}

void shaker_need(TreeShaker *c, const char *text, size_t n)
{
    if (n > 0)
        need_names(c, text, text + n);
    while (c->found.n > 0) {
        const Piece p = c->pieces.at[c->found.at[--c->found.n]];
        need_names(c, p.at, p.end);
    }
}

/* ---- prototypes ---- */

/* True if the piece is a prototype of one function. */
static bool is_prototype(const Piece *p)
{
    Scan s = { .at = p->at, .end = p->end };
    int token = next_token(&s), before = 0;
    if (p->kind != PieceItem || *p->at == '#'
        || begins(p->at, p->end, "typedef"))
        return false;
    for (; token != '(' && token != TokenEnd; token = next_token(&s)) {
        if (token == '{' || token == '=' || token == '[' || token == ',')
            return false;
        before = token;
    }
    while (token != TokenEnd && token != '{' && token != ';')
        token = next_token(&s);
    return before == TokenName && token == ';';
}

/* Sets first[d] to the first needed piece, other than a prototype, that has the
 * name of definition d. Only the first definition of a name counts. */
static void find_uses(const TreeShaker *c, int *first)
{
    for (int d = 0; d < c->definitions.n; d++)
        first[d] = c->pieces.n;
    for (int i = c->pieces.n - 1; i >= 0; i--) {
        const Piece *p = &c->pieces.at[i];
        Scan s = { .at = p->at, .end = p->end };
        if (p->kind != PieceItem || !p->needed || is_prototype(p))
            continue;
        for (int token; (token = next_token(&s)) != TokenEnd;) {
            const int d = token == TokenName ? index_find(&c->names, s.name)
                                             : -1;
            if (d >= 0)
                first[d] = i;
        }
    }
}

/* Omits a prototype. The comment before it goes to its function, unless that
 * has one. */
static void omit(TreeShaker *c, int prototype, int function)
{
    Piece *p = &c->pieces.at[prototype], *f = &c->pieces.at[function];
    const bool comment = prototype > 0 && p[-1].kind == PieceComment;
    p->omitted = true;
    if (comment && f[-1].kind != PieceComment)
        f->comment = prototype - 1;
    if (comment)
        p[-1].omitted = true;
}

/* Returns the needed piece that defines the function with this definition, or
 * -1. */
static int function_piece(const TreeShaker *c, int d)
{
    for (; d >= 0; d = c->definitions.at[d].next) {
        const int i = c->definitions.at[d].piece;
        if (c->pieces.at[i].needed && !is_prototype(&c->pieces.at[i]))
            return i;
    }
    return -1;
}

void shaker_omit_prototypes(TreeShaker *c)
{
    int *first = arena_alloc(c->a,
                             sizeof *first * (size_t)(c->definitions.n + 1));
    find_uses(c, first);
    for (int d = 0; d < c->definitions.n; d++) {
        const int function = function_piece(c, d);
        if (function < 1 || first[d] != function)
            continue;
        for (int k = d; k >= 0; k = c->definitions.at[k].next) {
            const int i = c->definitions.at[k].piece;
            if (i != function && is_prototype(&c->pieces.at[i]))
                omit(c, i, function);
        }
    }
}

/* ---- text ---- */

/* True if any of the pieces i .. end - 1 is needed and not omitted. */
static bool has_needed(const TreeShaker *c, int i, int end)
{
    for (; i < end; i++)
        if (c->pieces.at[i].needed && !c->pieces.at[i].omitted)
            return true;
    return false;
}

/* Returns the next section rule, or `end`. */
static int section_end(const TreeShaker *c, int i, int end)
{
    while (i < end && c->pieces.at[i].kind != PieceLine)
        i++;
    return i;
}

/* True if the comment at i belongs to a needed piece, one that precedes the
 * next empty line or comment. */
static bool comments_needed(const TreeShaker *c, int i, int end)
{
    i++;
    while (i < end && c->pieces.at[i].kind == PieceBlank)
        i++;
    for (; i < end; i++) {
        const Piece *p = &c->pieces.at[i];
        if (p->kind == PieceBlank || p->kind == PieceComment
            || p->kind == PieceLine)
            return false;
        if (p->needed && !p->omitted)
            return true;
    }
    return false;
}

typedef void PutText(void *with, const char *text, const char *end);

static void put_pieces(const TreeShaker *c, int first, int end, bool front,
                       PutText *put_text, void *with)
{
    for (int i = first; i < end; i++) {
        const Piece *p = &c->pieces.at[i];
        bool wanted = p->needed;
        if (p->kind == PieceComment)
            wanted = (front && i == first) || comments_needed(c, i, end);
        else if (p->kind == PieceLine)
            wanted = has_needed(c, i, section_end(c, i + 1, end));
        else if (p->kind == PieceIf && !has_needed(c, i, endif_of(c, i, end)))
            i = endif_of(c, i, end);
        else if (p->kind != PieceItem)
            wanted = true;
        if (wanted && p->comment > 0)
            put_text(with, c->pieces.at[p->comment].at,
                     c->pieces.at[p->comment].end);
        if (wanted && !p->omitted)
            put_text(with, p->at, p->end);
    }
}

void shaker_put(const TreeShaker *c, int part, PutText *put_text, void *with)
{
    static const char newline[] = "\n";
    for (int i = 0; i < c->files.n; i++) {
        const ShakerFile *f = &c->files.at[i];
        if (f->part != part || !has_needed(c, f->first, f->end))
            continue;
        put_pieces(c, f->first, f->end, true, put_text, with);
        put_text(with, newline, newline + 1);
    }
}
