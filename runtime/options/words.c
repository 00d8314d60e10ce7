/* words.c: helpers for error messages: names of uses, quoted text, and the edit
 * distance for suggestions. */
#include "settings.h"

#include <stdio.h>
#include <string.h>

ATTN_API const char *attn_use_text(int use)
{
    if (use & ATTN_FOR_LINES && use & ATTN_FOR_PROMPT)
        return "answers";
    if (use & ATTN_FOR_PROMPT)
        return "--prompt";
    if (use & ATTN_FOR_CHAT)
        return "--chat";
    if (use == ATTN_FOR_ENCODE)
        return "lines that an encoder reads";
    if (use & ATTN_FOR_LINES)
        return "lines of stdin";
    return "--score";
}

ATTN_API const char *attn_use_hint(const char *option, int use)
{
    return strcmp(option, "-n") == 0 && (use & ATTN_FOR_LINES) != 0
             ? ": use --max-output"
             : "";
}

ATTN_API void attn_quote(const char *text, int64_t n, char out[ATTN_QUOTED])
{
    const int64_t most = ATTN_QUOTED / 4 - 2;
    char *at = out, *const end = out + ATTN_QUOTED;

    for (int64_t i = 0; i < n && i < most; i++) {
        const char *form = text[i] >= ' ' && text[i] <= '~' ? "%c" : "\\x%02x";
        at += snprintf(at, (size_t)(end - at), form, (unsigned char)text[i]);
    }
    snprintf(at, (size_t)(end - at), "%s", n > most ? "..." : "");
}

/* Stores only one row of the table of distances at a time. */
ATTN_API int attn_distance(const char *a, size_t na, const char *b, size_t nb)
{
    int row[64];

    if (na > 63 || nb > 63)
        return 64;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            const int above = row[j];
            int least = corner + (a[i - 1] != b[j - 1]);
            if (above + 1 < least)
                least = above + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
            corner = above;
        }
    }
    return row[nb];
}
