/* columns.c: writes rows as JSON or CSV, and reads and checks them. */
#include "base/columns.h"

#include <math.h>
#include <string.h>

enum { TextMost = 4096 };

/* ---- writing ---- */
json_t *json_reals(const double *x, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_real(x[i]));
    return list;
}

static json_t *json_ints(const int64_t *x, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer(x[i]));
    return list;
}

static json_t *value_json(const RowColumn *c, const void *at)
{
    const char *text;
    switch (c->type) {
    case ColumnAdded:
        return *(const double *)at != 0 ? json_real(*(const double *)at) : NULL;
    case ColumnText:
    case ColumnMaybe:
        text = *(const char *const *)at;
        return text ? json_string(text) : json_null();
    case ColumnInt:  return json_integer(*(const int *)at);
    case ColumnBool: return json_boolean(*(const bool *)at);
    case ColumnWord: return json_string(c->words[*(const int *)at]);
    case ColumnReal:
    case ColumnKnown:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at)
                                             : json_null();
    case ColumnReals: return json_reals(at, c->n);
    case ColumnInts:  return json_ints(at, c->n);
    case ColumnRow:   return columns_object(c->row, c->n, at);
    }
    return NULL;
}

void columns_write(json_t *to, const RowColumn *c, int n, const void *row)
{
    for (int i = 0; i < n; i++)
        json_object_set_new(to, c[i].name,
                            value_json(&c[i], (const char *)row + c[i].at));
}

json_t *columns_object(const RowColumn *c, int n, const void *row)
{
    json_t *o = json_object();
    columns_write(o, c, n, row);
    return o;
}

/* ---- reading ---- */
static bool in_range(double x, double least, double most)
{
    return x >= least && x <= most;
}

static bool read_real(const json_t *from, double *x, double least, double most)
{
    *x = json_number_value(from);
    return json_is_number(from) && in_range(*x, least, most);
}

bool json_reals_read(const json_t *from, double *x, int n, double least,
                     double most)
{
    bool ok = json_array_size(from) == (size_t)n;
    for (int i = 0; ok && i < n; i++)
        ok = read_real(json_array_get(from, (size_t)i), &x[i], least, most);
    return ok;
}

static bool read_ints(const RowColumn *c, const json_t *from, int64_t *x)
{
    bool ok = json_array_size(from) == (size_t)c->n;
    for (int i = 0; ok && i < c->n; i++) {
        const json_t *at = json_array_get(from, (size_t)i);
        x[i] = json_integer_value(at);
        ok = json_is_integer(at) && in_range((double)x[i], c->least, c->most);
    }
    return ok;
}

static bool read_text(Arena *a, const RowColumn *c, const json_t *from,
                      const char **to)
{
    const char *text = json_string_value(from);
    const size_t n = json_string_length(from);
    bool ok = text ? c->type == ColumnMaybe || n <= TextMost
                   : c->type == ColumnMaybe && json_is_null(from);
    for (size_t i = 0; c->type == ColumnText && ok && i < n; i++)
        ok = text[i] >= ' ' && text[i] <= '~';
    *to = text && ok ? arena_strndup(a, text, n) : NULL;
    return ok;
}

static bool read_word(const RowColumn *c, const json_t *from, int *to)
{
    const char *text = json_string_value(from);
    for (*to = 0; text && *to < c->n; ++*to)
        if (strcmp(text, c->words[*to]) == 0)
            return true;
    *to = 0;
    return false;
}

static bool read_value(Arena *a, const RowColumn *c, const json_t *from,
                       void *at)
{
    switch (c->type) {
    case ColumnText:
    case ColumnMaybe: return read_text(a, c, from, at);
    case ColumnInt:
        *(int *)at = (int)json_integer_value(from);
        return json_is_integer(from)
            && in_range((double)json_integer_value(from), c->least, c->most);
    case ColumnBool:
        *(bool *)at = json_is_true(from);
        return json_is_boolean(from);
    case ColumnWord: return read_word(c, from, at);
    case ColumnKnown:
        if (json_is_null(from)) {
            *(double *)at = NAN;
            return true;
        }
        return read_real(from, at, c->least, c->most);
    case ColumnAdded:
        *(double *)at = 0;
        return !from || read_real(from, at, c->least, c->most);
    case ColumnReal:  return read_real(from, at, c->least, c->most);
    case ColumnReals: return json_reals_read(from, at, c->n, c->least, c->most);
    case ColumnInts:  return read_ints(c, from, at);
    case ColumnRow:   return !columns_parse(a, c->row, c->n, at, from);
    }
    return false;
}

const char *columns_parse(Arena *a, const RowColumn *c, int n, void *row,
                          const json_t *from)
{
    for (int i = 0; i < n; i++)
        if (!read_value(a, &c[i], json_object_get(from, c[i].name),
                        (char *)row + c[i].at))
            return c[i].name;
    return NULL;
}

/* ---- CSV ---- */
void put_csv_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"%c" : "%c", *text);
    fputc('"', out);
}

void columns_csv(const RowColumn *c, int n, const void *row, FILE *out)
{
    for (int i = 0; i < n; i++) {
        fputs(i ? "," : "", out);
        if (!row) {
            fputs(c[i].name, out);
            continue;
        }
        const void *at = (const char *)row + c[i].at;
        if (c[i].type == ColumnInt)
            fprintf(out, "%d", *(const int *)at);
        else if (c[i].type == ColumnReal)
            fprintf(out, "%.9g", *(const double *)at);
        else
            put_csv_text(c[i].type == ColumnWord ? c[i].words[*(const int *)at]
                                                 : *(const char *const *)at,
                         out);
    }
}
