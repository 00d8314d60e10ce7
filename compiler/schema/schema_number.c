/* schema_number.c: rules for numbers between bounds. A bound is an integer
 * scaled by a power of ten, so that digits are compared exactly. No number has
 * more than 15 digits, because other decimals are not exact as doubles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema_parts.h"

enum { MostDigits = 15, MostDecimals = 9 };

typedef struct {
    int64_t at;  /* scaled */
    bool beyond; /* the bound itself is excluded */
} Bound;

static int64_t power(int n)
{
    int64_t x = 1;
    while (n-- > 0)
        x *= 10;
    return x;
}

static int digits_of(int64_t x)
{
    int n = 1;
    while (n < MostDigits && x >= power(n))
        n++;
    return n;
}

/* ---- ranges of digits ---- */

static void put_class(Buffer *b, int from, int to)
{
    if (from == to)
        buffer_printf(b, "\"%d\" ", from);
    else
        buffer_printf(b, "[%d-%d] ", from, to);
}

/* Adds n digits of any value, with a point where `places` digits are left. */
static void put_any(Buffer *b, int n, int places)
{
    const int before = n > places ? n - places : 0, after = n - before;
    if (before > 0)
        buffer_printf(b, before > 1 ? "[0-9]{%d} " : "[0-9] ", before);
    if (n >= places && places > 0)
        buffer_printf(b, "\".\" ");
    if (after > 0)
        buffer_printf(b, after > 1 ? "[0-9]{%d} " : "[0-9] ", after);
}

/* Adds the numbers from lo to hi as n digits. `leads` is false for the digits
 * after the first, before which the point may stand. */
static void put_digits(Buffer *b, int64_t lo, int64_t hi, int n, int places)
{
    if (n == 0)
        return;
    const int64_t unit = power(n - 1);
    int from = (int)(lo / unit), to = (int)(hi / unit);
    if (lo == 0 && hi == power(n) - 1) {
        put_any(b, n, places);
        return;
    }
    if (n == places)
        buffer_printf(b, "\".\" ");
    if (from == to) {
        buffer_printf(b, "\"%d\" ", from);
        put_digits(b, lo % unit, hi % unit, n - 1, places);
        return;
    }
    const bool alone = lo % unit == 0 && hi % unit == unit - 1;
    buffer_printf(b, alone ? "" : "(");
    if (lo % unit > 0) {
        buffer_printf(b, "\"%d\" ", from);
        put_digits(b, lo % unit, unit - 1, n - 1, places);
        buffer_printf(b, "| ");
        from++;
    }
    if (hi % unit < unit - 1)
        to--;
    if (from <= to) {
        put_class(b, from, to);
        put_digits(b, 0, unit - 1, n - 1, places);
    }
    if (hi % unit < unit - 1) {
        buffer_printf(b, "%s\"%d\" ", from <= to ? "| " : "", to + 1);
        put_digits(b, 0, hi % unit, n - 1, places);
    }
    buffer_printf(b, alone ? "" : ") ");
}

/* Adds the numbers from lo to hi, which are scaled, with `places` digits after
 * the point, and then `tail`. */
static void put_range(Buffer *b, int64_t lo, int64_t hi, int places,
                      const char *sign, const char *tail)
{
    for (int n = places + 1; n <= MostDigits; n++) {
        const int64_t from = n == places + 1 ? 0 : power(n - 1);
        const int64_t least = attn_max(lo, from);
        const int64_t most = attn_min(hi, power(n) - 1);
        if (least > most)
            continue;
        buffer_printf(b, "| %s", sign);
        put_digits(b, least, most, n, places);
        buffer_printf(b, "%s", tail);
    }
}

/* ---- bounds ---- */

/* Reads minimum and exclusiveMinimum, or those of the maximum; `way` is 1 or
 * -1. Returns the tighter of them, or NAN. */
static bool read_bound(Schema *s, const json_t *schema, const char *pointer,
                       int way, double *to, bool *beyond)
{
    static const char *const names[2][2] = {
        { "minimum", "exclusiveMinimum" }, { "maximum", "exclusiveMaximum" }
    };
    *to = NAN;
    *beyond = false;
    for (int i = 0; i < 2; i++) {
        const char *key = names[way < 0][i];
        const json_t *x = json_object_get(schema, key);
        const double at = json_number_value(x);
        if (x && !json_is_number(x))
            return schema_refuse(s, schema_below(s, pointer, key),
                                 "a number is expected");
        if (x && fabs(at) >= 1e15)
            return schema_refuse(s, schema_below(s, pointer, key),
                                 "a bound is less than 1e15");
        if (x && (isnan(*to) || at * way >= *to * way)) {
            *to = at;
            *beyond = i == 1;
        }
    }
    return true;
}

/* Returns the decimals of a bound; -1: it has too many digits. */
static int decimals_of(double x)
{
    char text[40];
    for (int n = 0; n <= MostDecimals; n++) {
        snprintf(text, sizeof text, "%.*f", n, x);
        if (strtod(text, NULL) == x && fabs(x) * (double)power(n) < 1e15)
            return n;
    }
    return -1;
}

static int64_t scaled(double x, int places)
{
    return llround(x * (double)power(places));
}

/* ---- integers ---- */

/* Adds the magnitudes from lo to hi, with a sign if they are negative. */
static void put_integers(Buffer *b, int64_t lo, int64_t hi)
{
    if (lo < 0)
        put_range(b, attn_max(-hi, 1), -lo, 0, "\"-\" ", "");
    if (hi >= 0)
        put_range(b, attn_max(lo, 0), hi, 0, "", "");
}

static bool put_integer(Schema *s, const char *pointer, double lo, double hi,
                        bool over, bool under, Buffer *b)
{
    const int64_t most = power(MostDigits) - 1;
    const int64_t from = isnan(lo) ? -most
                       : over      ? (int64_t)floor(lo) + 1
                                   : (int64_t)ceil(lo);
    const int64_t to = isnan(hi) ? most
                     : under     ? (int64_t)ceil(hi) - 1
                                 : (int64_t)floor(hi);
    if (from > to)
        return schema_refuse(s, pointer, "no integer is within the bounds");
    put_integers(b, from, to);
    return true;
}

/* ---- numbers ---- */

/* Adds the magnitudes between two bounds, with `places` decimals or more. */
static void put_decimals(Buffer *b, Bound lo, Bound hi, int places,
                         const char *sign)
{
    const int least = places + 1, n = digits_of(lo.at);
    const int more = MostDigits - (n > least ? n : least);
    const char *point = places > 0 ? "" : "\".\" ";
    char tail[80];
    put_range(b, lo.at + lo.beyond, hi.at - hi.beyond, places, sign, "");
    for (int k = least; k < MostDigits; k++) { /* magnitudes of k digits */
        const int64_t from = attn_max(lo.at + lo.beyond,
                                      k > least ? power(k - 1) : 0);
        const int64_t to = attn_min(hi.at - 1, power(k) - 1);
        snprintf(tail, sizeof tail, "%s[0-9]{1,%d} ", point, MostDigits - k);
        if (from <= to)
            put_range(b, from, to, places, sign, tail);
    }
    if (!lo.beyond || lo.at >= hi.at || more < 2)
        return;
    snprintf(tail, sizeof tail, "%s\"0\"{0,%d} [1-9] [0-9]{0,%d} ", point,
             more / 2 - 1, more / 2);
    put_range(b, lo.at, lo.at, places, sign, tail);
}

/* Adds all numbers between the bounds. */
static void put_between(Buffer *b, Bound lo, Bound hi, int places)
{
    const Bound zero = { 0, true };
    if (lo.at < 0) {
        const Bound from = hi.at >= 0 ? zero : (Bound){ -hi.at, hi.beyond };
        put_decimals(b, from, (Bound){ -lo.at, lo.beyond }, places, "\"-\" ");
    }
    if (hi.at >= 0) {
        const Bound from = lo.at < 0 ? (Bound){ 0, false } : lo;
        put_decimals(b, from, hi, places, "");
    }
    if (places > 0) { /* integers, without a point */
        const int64_t unit = power(places);
        const int64_t from = lo.at + lo.beyond, to = hi.at - hi.beyond;
        const int64_t up = from > 0 ? (from + unit - 1) / unit : from / unit;
        const int64_t down = to < 0 ? (to - unit + 1) / unit : to / unit;
        if (up <= down)
            put_integers(b, up, down);
    }
}

static bool put_number(Schema *s, const char *pointer, double lo, double hi,
                       bool over, bool under, Buffer *b)
{
    const int of_lo = isnan(lo) ? 0 : decimals_of(lo);
    const int of_hi = isnan(hi) ? 0 : decimals_of(hi);
    const int places = of_lo > of_hi ? of_lo : of_hi;
    if (of_lo < 0 || of_hi < 0
        || (!isnan(lo) && fabs(lo) * (double)power(places) >= 1e15)
        || (!isnan(hi) && fabs(hi) * (double)power(places) >= 1e15))
        return schema_refuse(s, pointer,
                             "a bound of numbers has at most 9 decimals, and "
                             "both have at most 15 digits together");
    const int64_t most = power(MostDigits) - power(places);
    const Bound from = { isnan(lo) ? -most : scaled(lo, places), over };
    const Bound to = { isnan(hi) ? most : scaled(hi, places), under };
    if (from.at > to.at || (from.at == to.at && (over || under)))
        return schema_refuse(s, pointer, "no number is within the bounds");
    put_between(b, from, to, places);
    return true;
}

bool schema_number(Schema *s, const json_t *schema, const char *pointer,
                   bool integer)
{
    double lo, hi;
    bool over, under;
    Buffer b = { .arena = s->arena };
    if (!read_bound(s, schema, pointer, 1, &lo, &over)
        || !read_bound(s, schema, pointer, -1, &hi, &under))
        return false;
    if (isnan(lo) && isnan(hi)) {
        schema_use(s, s->to, integer ? TextInteger : TextNumber);
        return true;
    }
    if (!(integer ? put_integer(s, pointer, lo, hi, over, under, &b)
                  : put_number(s, pointer, lo, hi, over, under, &b)))
        return false;
    if (b.n == 0)
        return schema_refuse(s, pointer, "no number is within the bounds");
    buffer_add(s->to, b.at + 2, (size_t)b.n - 2); /* without the first bar */
    return true;
}
