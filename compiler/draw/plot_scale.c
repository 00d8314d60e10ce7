/* plot_scale.c: a range of values as an axis of a plot, linear or logarithmic,
 * in a unit with which the numbers are short. */
#include <math.h>

#include "draw/plot.h"

static const double most_linear = 20; /* maximum ratio of values on a linear
                                         scale */

typedef struct {
    double unit;
    const char *word;
} Unit;

enum { Units = 4 };
/* Units, largest first. The last one is also for smaller values. */
static const Unit units[][Units] = {
    [UnitCount] = { { 1e9, "billions" },
                    { 1e6, "millions" },
                    { 1e3, "thousands" },
                    { 1, "" } },
    [UnitFlops] = { { 1e12, "TFLOP" },
                    { 1e9, "GFLOP" },
                    { 1e6, "MFLOP" },
                    { 1e3, "kFLOP" } },
    [UnitBytes] = { { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" }, { 1, "B" } },
    [UnitSeconds] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" } },
    [UnitRate] = { { 1e6, "millions a second" },
                   { 1e3, "thousands a second" },
                   { 1, "a second" } },
    [UnitPart] = { { 0.01, "%" } },
    [UnitPower] = { { 1, "" } },
    [UnitWord] = { { 1, "" } },
};

Scale scale_new(UnitKind kind)
{
    return (Scale){ .kind = kind,
                    .least = INFINITY,
                    .most = -INFINITY,
                    .unit = 1,
                    .word = "" };
}

void scale_widen(Scale *s, double value)
{
    s->least = fmin(s->least, value);
    s->most = fmax(s->most, value);
}

static void find_unit(Scale *s)
{
    const double most = s->logarithmic ? sqrt(s->least * s->most)
                                       : fmax(fabs(s->most), fabs(s->least));
    for (int i = 0; i < Units && units[s->kind][i].word; i++) {
        s->unit = units[s->kind][i].unit;
        s->word = units[s->kind][i].word;
        if (most >= s->unit)
            return;
    }
}

void scale_end(Scale *s, bool zero)
{
    s->logarithmic |= s->least > 0 && s->most > most_linear * s->least;
    find_unit(s);
    s->from = s->logarithmic ? log10(s->least) : s->least;
    s->to = s->logarithmic ? log10(s->most) : s->most;
    double range = s->to - s->from;
    if (range <= 1e-9 * fabs(s->to))
        range = s->to != 0.0 ? fabs(s->to) : 1;
    s->from -= 0.06 * range;
    s->to += 0.08 * range;
    if (zero && !s->logarithmic && s->least >= 0 && s->least < 0.4 * s->most)
        s->from = 0;
}

double scale_part(const Scale *s, double value)
{
    const double x = s->logarithmic ? log10(value) : value;
    return (x - s->from) / (s->to - s->from);
}

/* Returns a step between round values: 1, 2 or 5 times a power of ten. */
static double step_of(double range, int about)
{
    const double raw = range / about, ten = pow(10, floor(log10(raw)));
    return ten * (raw > 5 * ten ? 10 : raw > 2 * ten ? 5 : raw > ten ? 2 : 1);
}

static int linear_ticks(const Scale *s, int about, double *tick)
{
    const double from = s->from / s->unit, to = s->to / s->unit;
    const double step = step_of(to - from, about);
    int n = 0;
    for (double k = ceil(from / step); k * step <= to && n < MostTicks; k++)
        tick[n++] = k * step * s->unit;
    return n;
}

/* Finds the powers of ten in the range and, if there are few, their multiples
 * by 2 and 5. */
static int log_ticks(const Scale *s, double *tick)
{
    static const double times[] = { 1, 2, 5 };
    const int each = s->to - s->from < 2.5 ? 3 : 1;
    const double unit = log10(s->unit);
    const double jump = ceil((s->to - s->from) / 10); /* decades from one mark
                                                         to the next */
    int n = 0;
    for (double k = floor(s->from - unit); k <= s->to - unit; k += jump)
        for (int i = 0; i < each && n < MostTicks; i++) {
            const double x = k + log10(times[i]) + unit;
            if (x >= s->from && x <= s->to)
                tick[n++] = pow(10, x);
        }
    return n;
}

int scale_ticks(const Scale *s, int about, double tick[MostTicks])
{
    return s->logarithmic ? log_ticks(s, tick) : linear_ticks(s, about, tick);
}

const char *scale_text(Arena *a, const Scale *s, double value, int digits)
{
    const double x = value / s->unit;
    if (fabs(x) >= 1000 && fabs(x) < 1e15)
        return arena_printf(a, "%.0f", x);
    /* a sum that should be 0, with a rounding error */
    if (fabs(value) < 1e-9 * fabs(s->most - s->least))
        return "0";
    return arena_printf(a, "%.*g", digits, x);
}
