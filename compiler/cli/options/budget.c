/* budget.c: parses --budget of the commands that measure. */
#include <stdlib.h>
#include <string.h>

#include "cli/options/options.h"

double budget_seconds(const char *text)
{
    const double most = 7 * 24 * 3600.0;
    char *end;
    double seconds = strtod(text, &end);
    if (end != text && !strcmp(end, "m"))
        seconds *= 60;
    else if (end != text && !strcmp(end, "h"))
        seconds *= 3600;
    else if (end == text || (*end && strcmp(end, "s") != 0))
        seconds = 0;
    if (text[strspn(text, "0123456789.smh")] || !(seconds >= 1)
        || seconds > most)
        fail(ExitUsage,
             "--budget '%s': give a time from 1s to 7 days, such as 60s, 2m "
             "or 90",
             quote(text));
    return seconds;
}
