/* link.c: parses --link, the latency and the rate of a network. */
#include <stdlib.h>
#include <string.h>

#include "cli/options/options.h"

typedef struct {
    const char *name;
    double size;
} Unit;

/* Reads a decimal number and its unit up to `end`. Returns 0 if the text is
 * anything else. */
static double quantity(const char *text, const char *end, const Unit *units,
                       int n)
{
    char *unit;
    const double x = strtod(text, &unit);
    if (unit != text + strspn(text, "0123456789."))
        return 0; /* strtod() also reads signs, exponents and hex */
    for (int i = 0; i < n; i++)
        if (strlen(units[i].name) == (size_t)(end - unit)
            && !strncmp(unit, units[i].name, strlen(units[i].name)))
            return x * units[i].size;
    return 0;
}

Link link_of(const char *text, int64_t ranks, int threads)
{
    static const Unit times[] = { { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 } };
    static const Unit rates[] = { { "Gbit/s", 1e9 / 8 }, { "GB/s", 1e9 } };
    const char *comma = strchr(text, ',');
    Link link = { .ranks = ranks, .threads = threads };
    if (comma) {
        link.latency = quantity(text, comma, times, 3);
        link.rate = quantity(comma + 1, text + strlen(text), rates, 2);
    }
    if (link.latency < 1e-9 || link.latency > 10 || link.rate < 1e6
        || link.rate > 1e15)
        fail(ExitUsage,
             "--link '%s': LATENCY,RATE is expected, as 20us,10Gbit/s: a time "
             "from 0.001us to 10s in s, ms or us; a rate from 0.001GB/s to "
             "1000000GB/s in Gbit/s or GB/s",
             quote(text));
    return link;
}
