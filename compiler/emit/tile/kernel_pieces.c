/* kernel_pieces.c: reads the files in kernels/. Each line that begins with
 * `//: ` begins a piece. */
#include "emit/tile/kernel_pieces.h"

#include "emit/text/embedded.h"

#include <string.h>

/* Returns the word for the instructions that multiply bytes. */
static const char *dot_word(const Target *t)
{
    return target_has(t, "avx512vnni") ? "vnni"
         : target_has(t, "avxvnni")    ? "avxvnni"
                                       : t->dot;
}

/* True if the target matches a word of `when:`, e.g. w8 or nofma. */
static bool fits(const Target *t, const char *when)
{
    const bool x86 = !strncmp(t->march, "x86", 3);
    const char *const dot = dot_word(t);
    const bool is_signed = !strcmp(dot, "maddubs") || !strcmp(dot, "dotprod")
                        || !strcmp(dot, "plain");
    char width[8];
    snprintf(width, sizeof width, "w%d", t->width);
    return !strcmp(when, width) || !strcmp(when, t->fma ? "fma" : "nofma")
        || !strcmp(when, x86 ? "x86" : "other") || !strcmp(when, dot)
        || !strcmp(when, target_widens(t) ? "wide" : "narrow")
        || !strcmp(when, t->pairs ? "pairs" : "nopairs")
        || (t->amx && !strcmp(when, "amx"))
        || !strcmp(when, is_signed ? "signed" : "unsigned");
}

/* Removes the next word from a line and returns it, or "" at the end. */
static const char *take_word(Arena *a, const char **line)
{
    const char *word = *line + strspn(*line, " ");
    const size_t n = strcspn(word, " \n");
    *line = word + n;
    return arena_strndup(a, word, n);
}

/* Returns text in which an activation's word replaces _ACT, and its number
 * NUMBER_ACT. */
static const char *for_act(Arena *a, const char *text, Activation act)
{
    static const char mark[] = "_ACT", number[] = "NUMBER";
    const size_t n = sizeof number - 1;
    const char *at = strstr(text, mark);
    if (!at)
        return text;
    size_t head = (size_t)(at - text);
    const char *word = arena_printf(a, "_%s", act_text[act].plain);
    if (head >= n && memcmp(at - n, number, n) == 0) {
        head -= n;
        word = arena_printf(a, "%d", (int)act);
    }
    return arena_printf(a, "%.*s%s%s", (int)head, text, word,
                        for_act(a, at + sizeof mark - 1, act));
}

static bool is_for_acts(const char *text)
{
    return strstr(text, "_ACT") != NULL;
}

/* Repeats each line of text that contains _ACT for each activation. */
static const char *lines_for_acts(Arena *a, const char *text)
{
    Buffer all = { .arena = a };
    while (*text) {
        const size_t n = strcspn(text, "\n");
        const char *line = arena_strndup(a, text, n + (text[n] == '\n'));
        const bool each = is_for_acts(line);
        for (int act = 0; act < (each ? (int)ActCount : 1); act++)
            if (!each || act != ActNone)
                buffer_printf(&all, "%s", for_act(a, line, (Activation)act));
        text += strlen(line);
    }
    return all.at;
}

/* ---- pieces ---- */

static void add_piece(Arena *a, Pieces *all, Piece p)
{
    const int at = index_add(a, &all->names, p.name, all->list.n);
    if (at < all->list.n)
        die("kernels/: %s is there twice", p.name);
    vec_push(a, &all->list, p);
}

/* Returns text in which the function of a gated form's other factor replaces
 * v_OTHER, or nothing does if the form has none. */
static const char *for_other(Arena *a, const char *text, Activation act)
{
    static const char mark[] = "v_OTHER";
    const Activation other = act_text[act].other;
    const char *at = strstr(text, mark);
    if (!at)
        return text;
    return arena_printf(a, "%.*s%s%s%s", (int)(at - text), text,
                        other ? "v_" : "", other ? act_text[other].plain : "",
                        for_other(a, at + sizeof mark - 1, act));
}

/* Returns the piece for one activation. */
static Piece piece_for(Arena *a, const Piece *p, Activation act)
{
    Piece one = { .name = for_act(a, p->name, act),
                  .kernel = p->kernel,
                  .text = for_other(a, for_act(a, p->text, act), act) };
    for (int i = 0; i < p->needs.n; i++) {
        const char *need = for_other(a, p->needs.at[i], act);
        if (*need)
            vec_push(a, &one.needs, for_act(a, need, act));
    }
    return one;
}

/* Returns one piece with the lines and needs of all activations. */
static Piece piece_for_all(Arena *a, const Piece *p)
{
    Piece one = { .name = p->name,
                  .kernel = p->kernel,
                  .type = p->type,
                  .text = lines_for_acts(a, p->text) };
    for (int i = 0; i < p->needs.n; i++) {
        const bool each = is_for_acts(p->needs.at[i]);
        for (int act = 0; act < (each ? (int)ActCount : 1); act++)
            if (!each || act != ActNone)
                vec_push(a, &one.needs,
                         for_act(a, p->needs.at[i], (Activation)act));
    }
    return one;
}

/* Reads the line of a marker. Returns true if the piece is for the target. */
static bool read_marker(Arena *a, const Target *t, const char *line, Piece *p)
{
    bool fit = true;
    p->name = take_word(a, &line);
    p->kernel = !strcmp(p->name, "kernel");
    p->type = !strcmp(p->name, "type");
    if (p->kernel || p->type)
        p->name = take_word(a, &line);
    const char *word = take_word(a, &line);
    if (!strcmp(word, "when:"))
        for (word = take_word(a, &line); *word && strcmp(word, "needs:");
             word = take_word(a, &line))
            fit &= fits(t, word);
    if (*word && strcmp(word, "needs:"))
        die("kernels/: %s: %s is neither when: nor needs:", p->name, word);
    for (word = take_word(a, &line); *word; word = take_word(a, &line))
        vec_push(a, &p->needs, word);
    return fit;
}

static void read_pieces(Arena *a, Pieces *all, const Target *t,
                        const char *file)
{
    static const char marker[] = "\n//: ";
    size_t n;
    const char *text = embedded_text(file, &n), *end = text + n;
    for (const char *at = strstr(text, marker), *next; at; at = next) {
        next = strstr(at + 1, marker);
        Piece p = { 0 };
        const bool fit = read_marker(a, t, at + strlen(marker), &p);
        const char *from = strchr(at + 1, '\n') + 1;
        const char *to = next ? next : end;
        while (to[-1] == '\n')
            to--;
        p.text = arena_strndup(a, from, (size_t)(to - from));
        if (!fit)
            continue;
        if (!is_for_acts(p.name))
            add_piece(a, all, piece_for_all(a, &p));
        for (int act = 0; act < ActCount && is_for_acts(p.name); act++)
            if (act != ActNone)
                add_piece(a, all, piece_for(a, &p, (Activation)act));
    }
}

Pieces pieces_of(Arena *a, const Target *t)
{
    Pieces all = { 0 };
    read_pieces(a, &all, t, "float_rules.c");
    read_pieces(a, &all, t, "prelude.c");
    read_pieces(a, &all, t, t->width == 1 ? "scalar.c" : "vector.c");
    read_pieces(a, &all, t, "kernels.c");
    read_pieces(a, &all, t, "activations.c");
    read_pieces(a, &all, t, "recurrent.c");
    read_pieces(a, &all, t, "convolution.c");
    read_pieces(a, &all, t, "rows.c");
    read_pieces(a, &all, t, "experts.c");
    read_pieces(a, &all, t, "attention.c");
    if (t->width > 1)
        read_pieces(a, &all, t, "dots.c");
    read_pieces(a, &all, t, "integers.c");
    read_pieces(a, &all, t, "tiles.c");
    read_pieces(a, &all, t,
                t->width == 1 ? "scalar_tiles.c" : "vector_tiles.c");
    if (t->width > 1)
        read_pieces(a, &all, t, "integer_tiles.c");
    read_pieces(a, &all, t, "products.c");
    if (t->width > 1)
        read_pieces(a, &all, t, "amx.c");
    return all;
}

Pieces plain_pieces(Arena *a)
{
    Pieces all = { 0 };
    read_pieces(a, &all, NULL, "float_rules.c");
    read_pieces(a, &all, NULL, "plain.c");
    read_pieces(a, &all, NULL, "plain_products.c");
    read_pieces(a, &all, NULL, "plain_mixing.c");
    return all;
}

const char *piece_prototype(const Piece *p, size_t *n)
{
    const char *from = strstr(p->text, "static ") + strlen("static ");
    *n = (size_t)(strstr(from, "\n{") - from);
    return from;
}

ParameterNames piece_parameters(Arena *a, const Piece *p)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    ParameterNames names = { 0 };
    const char *at;
    for (at = strstr(p->text, "static "); *at != '(';)
        at++;
    while (*at != ')') {
        const size_t n = strcspn(at + 1, ",)");
        const char *end = at + 1 + n, *from = end;
        while (strchr(letters, from[-1]))
            from--;
        vec_push(a, &names, arena_strndup(a, from, (size_t)(end - from)));
        at = end;
    }
    return names;
}
