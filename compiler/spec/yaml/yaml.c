/* yaml.c: parses YAML text into a tree of scalars, lists and maps with
 * positions. It reads libyaml's events instead of its document API. It accepts
 * only a small subset of YAML and rejects everything that a spec does not need,
 * with a message. It does not depend on models. */
#include <string.h>
#include <yaml.h>

#include "spec/yaml/yaml.h"

enum {
    MostBytes = 1 << 20,
    MostDepth = 32,
    MostEvents = 100000,
    MostKeys = 1000 /* maximum keys of a map, which are compared in pairs */
};

typedef struct {
    Arena *arena;
    const Source *src;
    VEC(size_t) line; /* byte offset of each line; [0]: start of parsing */
    yaml_parser_t yaml;
    yaml_event_t event; /* while next() reads it */
    int events, depth;
    struct {
        size_t line, column, at;
    } last; /* last result of place(), from which its next search starts */
} Parser;

/* ---- bytes ---- */

/* Returns the length of the UTF-8 character at s and its code point in *c; 0 if
 * it is invalid (overlong, a surrogate, above U+10FFFF). */
static size_t utf8_char(const char *s, size_t n, uint32_t *c)
{
    const unsigned char *u = (const unsigned char *)s;
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t bytes = u[0] < 0x80 ? 1
                 : u[0] < 0xc0 ? 0
                 : u[0] < 0xe0 ? 2
                 : u[0] < 0xf0 ? 3
                 : u[0] < 0xf8 ? 4
                               : 0;

    if (bytes == 0 || bytes > n)
        return 0;
    *c = bytes == 1 ? u[0] : u[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
        *c = *c << 6 | (u[i] & 0x3f);
    }
    bool surrogate = *c >= 0xd800 && *c <= 0xdfff;
    return *c < smallest[bytes] || surrogate || *c > 0x10ffff ? 0 : bytes;
}

/* True for invisible characters, and for characters that YAML treats as line
 * breaks but most editors do not. */
static bool refused_char(uint32_t c, char after)
{
    if (c == '\t' || c == '\n')
        return false;
    if (c == '\r')
        return after != '\n';
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029
        || c == 0xfeff;
}

static bool looks_utf16(const Source *s)
{
    return s->size >= 2
        && (!memcmp(s->text, "\xff\xfe", 2) || !memcmp(s->text, "\xfe\xff", 2)
            || !s->text[0] != !s->text[1]);
}

static bool check_document_size(const Source *src)
{
    Pos top = { src, 1, 1 };

    if (src->size > MostBytes)
        error_at(top, "the file has %zu bytes; at most %d are allowed",
                 src->size, MostBytes);
    else if (src->size == 0)
        error_at(top, "the file is empty");
    else if (looks_utf16(src))
        error_at(top, "the file is UTF-16; it must be UTF-8");
    else
        return true;
    return false;
}

static bool check_bytes(const Source *src)
{
    Pos pos = { src, 1, 1 };
    uint32_t c;

    for (size_t at = 0, n; at < src->size; at += n) {
        n = utf8_char(src->text + at, src->size - at, &c);
        if (n == 0) {
            error_at(pos, "byte 0x%02x here is not UTF-8",
                     (unsigned char)src->text[at]);
            return false;
        }
        if (refused_char(c, at + 1 < src->size ? src->text[at + 1] : '\0')) {
            error_at(pos, "character U+%04X is not allowed", (unsigned)c);
            return false;
        }
        pos.col += (int)n;
        if (c == '\n')
            pos = (Pos){ src, pos.line + 1, 1 };
    }
    return true;
}

/* ---- places ---- */
static void find_lines(Parser *p, size_t start)
{
    vec_push(p->arena, &p->line, start);
    p->last.at = start;
    for (size_t at = start; at < p->src->size; at++)
        if (p->src->text[at] == '\n')
            vec_push(p->arena, &p->line, at + 1);
}

/* Converts a libyaml mark to a position. libyaml counts lines and columns from
 * 0, and columns in characters; only this function adds 1. Marks usually
 * increase, so the search starts at the last position, and a line of 1 MiB is
 * scanned only once. */
static Pos place(Parser *p, yaml_mark_t mark)
{
    const char *text = p->src->text;
    int line = mark.line < (size_t)p->line.n ? (int)mark.line : p->line.n - 1;
    size_t begin = line ? p->line.at[line] : 0;

    if (p->last.line != mark.line || p->last.column > mark.column) {
        p->last.line = mark.line;
        p->last.column = 0;
        p->last.at = p->line.at[line];
    }
    size_t at = p->last.at;
    for (; p->last.column < mark.column && at < p->src->size; p->last.column++)
        do
            at++;
        while (at < p->src->size && (text[at] & 0xc0) == 0x80);
    p->last.at = at;
    return (Pos){ p->src, line + 1, (int)(at - begin) + 1 };
}

/* ---- events ---- */
static void syntax_error(Parser *p)
{
    const yaml_parser_t *y = &p->yaml;
    const char *context = y->context ? y->context : "";

    if (y->error == YAML_MEMORY_ERROR)
        fail(ExitResource, "out of memory while reading %s", p->src->name);
    const Pos at = place(p, y->problem_mark);
    yaml_syntax_error(p->src, y->problem, context, at,
                      *context ? place(p, y->context_mark) : at);
}

typedef struct { /* what the tree keeps of an event */
    yaml_event_type_t type;
    Pos pos;
    const char *text; /* of a scalar */
    bool quoted;
    bool directives;     /* the document begins with some */
    const char *refused; /* message about a part that is not allowed, or NULL */
} Event;

static const char *refused_part(const yaml_event_t *e)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    switch (e->type) {
    case YAML_ALIAS_EVENT: return "aliases (*name) are not allowed";
    case YAML_SCALAR_EVENT:
        anchor = e->data.scalar.anchor;
        tag = e->data.scalar.tag;
        if (strlen((char *)e->data.scalar.value) != e->data.scalar.length)
            return "a NUL character is not allowed in text";
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = e->data.sequence_start.anchor;
        tag = e->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = e->data.mapping_start.anchor;
        tag = e->data.mapping_start.tag;
        break;
    default: break;
    }
    return anchor ? "anchors (&name) are not allowed"
         : tag    ? "tags (!name) are not allowed"
                  : NULL;
}

static Event taken(Parser *p, const yaml_event_t *e)
{
    Event to = { .type = e->type,
                 .pos = place(p, e->start_mark),
                 .refused = refused_part(e) };
    if (e->type == YAML_SCALAR_EVENT) {
        to.text = arena_strndup(p->arena, (char *)e->data.scalar.value,
                                e->data.scalar.length);
        to.quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    }
    if (e->type == YAML_DOCUMENT_START_EVENT)
        to.directives = e->data.document_start.version_directive
                     || e->data.document_start.tag_directives.start
                            != e->data.document_start.tag_directives.end;
    return to;
}

static bool next(Parser *p, Event *e)
{
    if (!yaml_parser_parse(&p->yaml, &p->event)) {
        syntax_error(p);
        return false;
    }
    *e = taken(p, &p->event);
    yaml_event_delete(&p->event);
    if (++p->events <= MostEvents)
        return true;
    error_at(e->pos, "the file has more than %d parts", MostEvents);
    return false;
}

/* ---- tree ---- */
static Yaml *read_node(Parser *p, const Event *e);

static Yaml *read_next(Parser *p)
{
    Event e;
    return next(p, &e) ? read_node(p, &e) : NULL;
}

/* Returns true at the end of the list or map. Otherwise reads the next value
 * into *node, or sets *failed if it cannot be read. */
static bool at_end(Parser *p, yaml_event_type_t end, Yaml **node, bool *failed)
{
    Event e;

    *failed = true;
    if (!next(p, &e))
        return true;
    bool ended = e.type == end;
    *node = ended ? NULL : read_node(p, &e);
    *failed = !ended && !*node;
    return ended || *failed;
}

static bool read_list(Parser *p, Yaml *list)
{
    Yaml *item;
    bool failed;

    while (!at_end(p, YAML_SEQUENCE_END_EVENT, &item, &failed))
        vec_push(p->arena, &list->items, item);
    return !failed;
}

static bool check_key(const Yaml *map, const Yaml *key)
{
    if (key->kind != YamlScalar)
        error_at(key->pos, "a key must be one word");
    else if (!strcmp(key->text, "<<") && !key->quoted)
        error_at(key->pos, "merge keys (<<) are not allowed");
    else if (map->keys.n == MostKeys)
        error_at(key->pos, "a map has more than %d keys", MostKeys);
    else
        return true;
    if (key->kind == YamlScalar && key->text[0] == '<')
        note_at((Pos){ 0 }, "use `extends: other.yaml`");
    return false;
}

static bool repeated(const Yaml *map, const Yaml *key)
{
    for (int i = 0; i < map->keys.n; i++) {
        const Yaml *first = map->keys.at[i];
        if (strcmp(first->text, key->text))
            continue;
        error_at(key->pos, "duplicate key '%s'", quote(key->text));
        note_at(first->pos, "it is first written here");
        return true;
    }
    return false;
}

static bool read_map(Parser *p, Yaml *map)
{
    Yaml *key, *value;
    bool failed;

    while (!at_end(p, YAML_MAPPING_END_EVENT, &key, &failed)) {
        if (!check_key(map, key))
            return false;
        bool again = repeated(map, key);
        value = read_next(p);
        if (!value)
            return false;
        if (again)
            continue;
        vec_push(p->arena, &map->keys, key);
        vec_push(p->arena, &map->items, value);
    }
    return !failed;
}

static Yaml *read_inside(Parser *p, Yaml *node)
{
    if (p->depth == MostDepth) {
        error_at(node->pos, "lists and maps are nested more than %d deep",
                 MostDepth);
        return NULL;
    }
    p->depth++;
    bool done = node->kind == YamlMap ? read_map(p, node) : read_list(p, node);
    p->depth--;
    return done ? node : NULL;
}

static Yaml *read_node(Parser *p, const Event *e)
{
    Yaml *node = arena_alloc(p->arena, sizeof *node);

    node->pos = e->pos;
    if (e->refused) {
        error_at(node->pos, "%s", e->refused);
        return NULL;
    }
    if (e->type == YAML_SCALAR_EVENT) {
        node->kind = YamlScalar;
        node->text = e->text;
        node->quoted = e->quoted;
        return node;
    }
    node->kind = e->type == YAML_MAPPING_START_EVENT ? YamlMap : YamlList;
    return read_inside(p, node);
}

/* Reads an event before or after the only document. */
static bool expect(Parser *p, yaml_event_type_t type)
{
    Event e;

    if (!next(p, &e))
        return false;
    const bool found = e.type == type;
    if (e.directives)
        error_at(e.pos, "directives (%%) are not allowed");
    else if (!found && type == YAML_DOCUMENT_START_EVENT)
        error_at((Pos){ p->src, 1, 1 }, "nothing is written here");
    else if (!found)
        error_at(e.pos, "a second document starts here; only one is allowed");
    return found && !e.directives;
}

static Yaml *read_document(Parser *p)
{
    Yaml *root = NULL;

    if (expect(p, YAML_STREAM_START_EVENT)
        && expect(p, YAML_DOCUMENT_START_EVENT))
        root = read_next(p);
    return root && expect(p, YAML_DOCUMENT_END_EVENT)
                && expect(p, YAML_STREAM_END_EVENT)
             ? root
             : NULL;
}

static void close_parser(void *what)
{
    Parser *p = what;

    yaml_event_delete(&p->event);
    yaml_parser_delete(&p->yaml);
}

Yaml *yaml_parse(Arena *a, const Source *src, size_t start)
{
    Parser *p = arena_alloc(a, sizeof *p);

    *p = (Parser){ .arena = a, .src = src };
    if (!check_document_size(src) || !check_bytes(src))
        return NULL;
    find_lines(p, start);
    if (!yaml_parser_initialize(&p->yaml))
        fail(ExitResource, "out of memory while reading %s", src->name);
    arena_owns(a, p, close_parser);
    yaml_parser_set_encoding(&p->yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p->yaml,
                                 (const unsigned char *)src->text + start,
                                 src->size - start);
    Yaml *root = read_document(p);
    arena_closes(a, p);
    return root;
}

Yaml *yaml_get(const Yaml *map, const char *key)
{
    for (int i = 0; i < map->keys.n; i++)
        if (!strcmp(map->keys.at[i]->text, key))
            return map->items.at[i];
    return NULL;
}
