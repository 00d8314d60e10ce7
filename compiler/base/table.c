/* table.c: selects the columns of a table that fit a terminal. */
#include "base/table.h"

#include <string.h>

#include "base/console.h"
#include "base/strings.h"
#include "base/terminal.h"

int table_room(FILE *out)
{
    return terminal_columns(console_shown(out));
}

int table_fit(TableFit *column, int n, int room)
{
    int left = room;
    for (int i = 0; i < n; i++) {
        column[i].shown = true;
        left -= column[i].width;
    }
    while (room > 0 && left < 0) {
        TableFit *least = NULL;
        for (int i = 0; i < n; i++)
            if (column[i].shown && column[i].rank > (least ? least->rank : 0))
                least = &column[i];
        if (!least)
            return left;
        least->shown = false;
        left += least->width;
    }
    return room > 0 ? left : 0;
}

/* Shortens the middle, because the end says more than the beginning: w1 in
 * "encoder.3.ffn.w1". */
const char *cut_middle(Arena *a, const char *text, int width)
{
    const int n = (int)strlen(text), dots = width < 5 ? 0 : 3;
    const int begin = (width - dots) / 2;
    if (width < 1 || n <= width)
        return text;
    if (!dots)
        return arena_strndup(a, text, (size_t)width);
    return arena_printf(a, "%.*s...%s", begin, text,
                        text + n - (width - dots - begin));
}

/* ---- texts ---- */
TextTable text_table(Arena *a, FILE *out, bool markdown, int n)
{
    TextTable t = { a, out, markdown, n, NULL, NULL };
    t.left = arena_alloc(a, (size_t)n * sizeof *t.left + 1);
    t.fit = arena_alloc(a, (size_t)n * sizeof *t.fit + 1);
    for (int i = 0; i < n; i++)
        t.fit[i] = (TableFit){ .width = 2, .shown = true };
    return t;
}

void table_widen(TextTable *t, int column, const char *text)
{
    const int width = text_columns(text) + 2;
    if (t->fit[column].width < width)
        t->fit[column].width = width;
}

/* Does not pad the last cell if it is aligned to the left. UTF-8 text can have
 * more bytes than columns. */
void table_cell(const TextTable *t, int column, const char *text)
{
    text = *text ? text : "-";
    const int pad = t->fit[column].width - 2 - text_columns(text);
    const int width = (int)strlen(text) + (pad > 0 ? pad : 0);
    if (!t->fit[column].shown)
        return;
    if (t->markdown)
        fprintf(t->out, " %s |", text);
    else
        fprintf(t->out, "%s%*s", column ? "  " : "",
                !t->left[column]     ? width
                : column == t->n - 1 ? 0
                                     : -width,
                text);
}

void table_rule(const TextTable *t)
{
    fputs(t->markdown ? "|" : "", t->out);
    for (int i = 0; t->markdown && i < t->n; i++)
        fputs(!t->fit[i].shown ? "" : t->left[i] ? "---|" : "---:|", t->out);
    fputs(t->markdown ? "\n" : "", t->out);
}
