/* chat_texts.c: finds the texts that a chat template writes around turns: it
 * renders conversations of known turns and takes the text between these. Then
 * it compares other conversations with the template's: empty turns, white
 * space, several turns. */
#include <string.h>

#include "import/chat_texts.h"
#include "import/jinja.h"

typedef struct {
    ChatTemplate *t;
    const JinjaNode *top;
    JinjaFault fault; /* of the last rendering */
    const char *lead; /* white space that the model writes before an answer */
} Probe;

enum { MostTurns = 7 };

typedef struct {
    const char *system;
    const char *turn[MostTurns]; /* of the user and of the model, in turn;
                                  * NULL ends them */
} Talk;

/* ---- rendering ---- */
static Datum text_value(const char *text)
{
    return (Datum){ .kind = ValueText, .text = text };
}

/* Returns the message of a role. */
static Datum message(Arena *a, const char *role, const char *content)
{
    static const char *const keys[] = { "role", "content" };
    Datum *at = arena_alloc(a, 2 * sizeof *at);
    at[0] = text_value(role);
    at[1] = text_value(content);
    return (Datum){ .kind = ValueMap, .many = { at, keys, 2 } };
}

/* Returns the variables of a template. */
static Datum variables_of(const Probe *p, Arena *a, const Talk *talk,
                          bool prompt)
{
    VEC(Datum) messages = { NULL, 0, 0 };
    const char **key = arena_alloc(a, (4 + ChatTokens) * sizeof *key);
    Datum *at = arena_alloc(a, (4 + ChatTokens) * sizeof *at);
    int n = 0;
    if (talk->system)
        vec_push(a, &messages, message(a, "system", talk->system));
    for (int i = 0; i < MostTurns && talk->turn[i]; i++)
        vec_push(a, &messages,
                 message(a, i % 2 ? "assistant" : "user", talk->turn[i]));
    key[n] = "messages";
    at[n++] = (Datum){ .kind = ValueList,
                       .many = { messages.at, NULL, messages.n } };
    key[n] = "add_generation_prompt";
    at[n++] = value_truth(prompt);
    key[n] = "tools";
    at[n++] = (Datum){ .kind = ValueNone };
    key[n] = "documents";
    at[n++] = (Datum){ .kind = ValueNone };
    for (int i = 0; i < ChatTokens; i++)
        if (p->t->token[i]) {
            key[n] = p->t->token_name[i];
            at[n++] = text_value(p->t->token[i]);
        }
    return (Datum){ .kind = ValueMap, .many = { at, key, n } };
}

/* Returns what the template writes; NULL after a fault. */
static const char *render(Probe *p, const Talk *talk, bool prompt)
{
    Arena *a = arena_new();
    const Datum variables = variables_of(p, a, talk, prompt);
    const char *text = jinja_render(a, p->top, &variables, &p->t->dated,
                                    &p->fault);
    if (text)
        text = arena_strdup(p->t->arena, text);
    else
        p->fault.why = arena_strdup(p->t->arena, p->fault.why);
    arena_free(a);
    return text;
}

/* ---- texts ---- */

/* Finds the turns of a talk in what the template writes, and sets part[] to the
 * texts before each and after the last. Returns false if a turn is missing. */
static bool find_parts(Probe *p, const Talk *talk, bool prompt,
                       const char **part)
{
    const char *at = render(p, talk, prompt);
    int n = 0;
    for (int i = talk->system ? -1 : 0; at && i < MostTurns; i++) {
        const char *turn = i < 0 ? talk->system : talk->turn[i];
        const char *end = turn ? strstr(at, turn) : NULL;
        if (!turn)
            break;
        if (!end) {
            p->fault = (JinjaFault){ "a turn is not in what the template "
                                     "writes",
                                     0 };
            return false;
        }
        part[n++] = arena_strndup(p->t->arena, at, (size_t)(end - at));
        at = end + strlen(turn);
    }
    part[n] = at;
    return at;
}

/* Return the rest of a text after `start`, or the part before `end`; NULL if it
 * does not start, or end, so. */
static const char *after(const char *text, const char *start)
{
    const size_t n = strlen(start);
    return strncmp(text, start, n) ? NULL : text + n;
}

static const char *before(const Probe *p, const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return m > n || strcmp(text + n - m, end) != 0
             ? NULL
             : arena_strndup(p->t->arena, text, n - m);
}

/* Returns the longest text at the end of both. */
static const char *common_end(const char *x, const char *y)
{
    const char *to = x + strlen(x), *other = y + strlen(y);
    while (to > x && other > y && to[-1] == other[-1]) {
        to--;
        other--;
    }
    while ((*to & 0xc0) == 0x80)
        to++;
    return to;
}

static const char user_1[] = "Question-1", user_2[] = "Question-2",
                  answer_1[] = "Answer-1", system_1[] = "Rules-1";

/* Finds the texts around turns of the user and of the model. */
static bool find_turns(Probe *p, struct attn_chat *c, const char **first)
{
    const Talk one = { NULL, { user_1 } };
    const Talk two = { NULL, { user_1, answer_1, user_2 } };
    const Talk half = { NULL, { user_1, answer_1 } };
    const char *a[2], *b[4], *bare[2], *ended[3];
    if (!find_parts(p, &one, true, a) || !find_parts(p, &two, true, b))
        return false;
    const bool stops = find_parts(p, &one, false, bare) && after(a[1], bare[1]);
    c->user.suffix = stops ? bare[1] : a[1];
    c->assistant.prefix = after(a[1], c->user.suffix);
    p->lead = after(b[1], a[1]);
    if (!p->lead || p->lead[strspn(p->lead, " \n")])
        p->lead = "";
    c->user.prefix = find_parts(p, &half, false, ended) ? after(b[2], ended[2])
                                                        : NULL;
    if (!c->user.prefix || !before(p, a[0], c->user.prefix))
        c->user.prefix = common_end(a[0], b[2]);
    c->assistant.suffix = before(p, b[2], c->user.prefix);
    c->begin = before(p, a[0], c->user.prefix);
    *first = a[0];
    return true;
}

/* Finds the texts around the system's text. `first` is what the template writes
 * before the first turn if there is no system's text: it may have its own. */
static void find_system(Probe *p, struct attn_chat *c, const char *first)
{
    const Talk one = { system_1, { user_1 } };
    const char *a[3], *begin = p->t->token[0] ? p->t->token[0] : "";
    const char *rest, *inside;
    c->system = (struct attn_chat_role){ "", "\n\n" };
    c->system_inside = 1;
    if (!find_parts(p, &one, true, a))
        return;
    const char *end = before(p, a[1], c->user.prefix);
    rest = after(a[0], c->begin);
    inside = rest ? after(rest, c->user.prefix) : NULL;
    if (end && rest) {
        c->system = (struct attn_chat_role){ rest, end };
        c->system_inside = 0;
    } else if (end && after(first, a[0])) {
        c->system_text = before(p, after(first, a[0]), a[1]);
        if (!c->system_text)
            return;
        rest = after(a[0], begin);
        c->begin = rest ? begin : "";
        c->system = (struct attn_chat_role){ rest ? rest : a[0], end };
        c->system_inside = 0;
    } else if (inside) {
        c->system = (struct attn_chat_role){ inside, a[1] };
    }
}

/* ---- comparison ---- */

/* Returns what attnc writes for a talk. */
static const char *ours(const Probe *p, const struct attn_chat *c,
                        const Talk *talk)
{
    Arena *a = p->t->arena;
    Buffer b = { .arena = a };
    const char *system = talk->system ? talk->system : c->system_text;
    for (int i = 0; i < MostTurns && talk->turn[i]; i++) {
        const char *turn = talk->turn[i];
        const int64_t bytes = (int64_t)strlen(turn);
        if (i % 2) {
            buffer_printf(&b, "%s%s", p->lead, turn);
            continue;
        }
        const int64_t n = attn_chat_turn(c, system, i == 0, turn, bytes, NULL,
                                         0);
        char *out = arena_alloc(a, (size_t)n + 1);
        attn_chat_turn(c, system, i == 0, turn, bytes, out, n);
        buffer_add(&b, out, (size_t)n);
    }
    return b.at ? b.at : "";
}

#define WIDE " \n Tell me \t"
#define WIDER "\xe3\x80\x80\xc3\xa9t\xc3\xa9 ?\xc2\xa0"

static const struct {
    const char *kind; /* NULL: these must agree */
    Talk talk;
} talks[] = {
    { NULL, { NULL, { "Hello" } } },
    { NULL, { NULL, { "Who?", "I.", "Why?\n\nBecause:\n  1\n" } } },
    { NULL, { NULL, { "a", "b\n\nc", "d", "e", "f", "g", "h" } } },
    { "a system's text", { "Be brief.", { "Hello" } } },
    { "a system's text", { "Be\n\nbrief.", { "Hello" } } },
    { "a second turn after a system's text",
      { "Be brief.", { "Who?", "I.", "Why?" } } },
    { "a second turn after a system's text",
      { "Be brief.", { "a", "b", "c", "d", "e", "f", "g" } } },
    { "white space around a turn", { NULL, { WIDE, "Well.", WIDER } } },
    { "white space around a turn after a system's text",
      { "Be brief.", { WIDE } } },
    { "white space around a system's text", { "\n Be brief. \n", { "Hi" } } },
    { "white space around a system's text", { "\n Be brief. \n", { WIDE } } },
    { "an empty turn", { NULL, { "" } } },
    { "an empty turn", { NULL, { "Hello", "Well.", "" } } },
    { "an empty turn", { NULL, { "", "Well.", "Hello" } } },
    { "a blank turn", { NULL, { " \n" } } },
    { "a blank turn", { NULL, { "Hello", "Well.", " \n" } } },
    { "an empty turn after a system's text", { "Be brief.", { "" } } },
    { "a blank turn after a system's text", { "Be brief.", { " \n" } } },
    { "an empty system's text", { "", { "Hello" } } },
    { "an empty system's text", { "", { WIDE } } },
    { "an empty system's text and turn", { "", { "" } } },
    { "a blank system's text", { " \n", { "Hello" } } },
    { "a blank system's text", { " \n", { WIDE } } },
    { "an answer with <think>",
      { NULL, { "Who?", "<think>\nHm.\n</think>\n\nI.", "Why?" } } },
};
enum { Talks = sizeof talks / sizeof *talks, PlainSystem = 3 };

/* Returns the number of talks that agree; -1 if one that must does not. Sets
 * *kinds to the kinds of the others, or NULL. If a plain system's text differs,
 * no other kind with such a text is named. */
static int compare_talks(const Probe *p, const struct attn_chat *c,
                         const char *const *theirs, const char **kinds)
{
    int same = 0;
    bool differs[Talks];
    const char *last = "";
    *kinds = NULL;
    for (int i = 0; i < Talks; i++) {
        differs[i] = !theirs[i]
                  || strcmp(theirs[i], ours(p, c, &talks[i].talk)) != 0;
        same += !differs[i];
        if (differs[i] && !talks[i].kind)
            return -1;
    }
    for (int i = 0; i < Talks; i++) {
        if (!differs[i] || strcmp(talks[i].kind, last) == 0
            || (differs[PlainSystem] && talks[i].talk.system
                && i != PlainSystem))
            continue;
        last = talks[i].kind;
        *kinds = arena_printf(p->t->arena, "%s%s%s", *kinds ? *kinds : "",
                              *kinds ? ", " : "", last);
    }
    return same;
}

/* Chooses the white space that is removed, and whether an empty system's text
 * is skipped. Returns false, with p->fault, if no choice gives what the
 * template writes. */
static bool choose(Probe *p, struct attn_chat *c)
{
    const char *theirs[Talks], *kinds;
    int best = -1;
    const struct attn_chat base = *c;
    for (int i = 0; i < Talks; i++) {
        theirs[i] = render(p, &talks[i].talk, true);
        if (!theirs[i] && !talks[i].kind)
            return false;
    }
    p->fault.why = "the texts around its turns are not always the same";
    p->fault.line = 0;
    for (int i = 0; i < 8 && best < Talks; i++) {
        struct attn_chat with = base;
        with.trim = i / 2;
        with.system_skipped = i % 2;
        const int same = compare_talks(p, &with, theirs, &kinds);
        if (same <= best)
            continue;
        best = same;
        *c = with;
        p->t->differs = kinds;
    }
    return best >= 0;
}

static const char *why_not(const Probe *p)
{
    return p->fault.line
             ? arena_printf(p->t->arena, "line %d of the template: %s",
                            p->fault.line, p->fault.why)
             : p->fault.why;
}

const char *chat_texts(ChatTemplate *t, struct attn_chat *to)
{
    Probe p = { .t = t };
    const char *first;
    *to = (struct attn_chat){ .begin = "" };
    p.top = jinja_parse(t->arena, t->text, &p.fault);
    if (!p.top || !find_turns(&p, to, &first))
        return why_not(&p);
    find_system(&p, to, first);
    return choose(&p, to) ? NULL : why_not(&p);
}
