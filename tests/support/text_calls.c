/* text_calls.c: embeds each line of stdin with the options TASK PROMPT, by m.h
 * of a model named m, and prints its rows as the model's program does.
 * tests/emit/handle_test.c compiles it. PROMPT "-": none is given. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m.h"

int main(int argc, char **argv)
{
    struct attn_handle *h = m_open(NULL, NULL);
    const struct attn_text_options o = {
        .task = argc > 1 ? atoi(argv[1]) : 0,
        .prompt = argc > 2 && strcmp(argv[2], "-") ? argv[2] : NULL
    };
    float out[M_MAX_SOURCE * M_OUTPUT];
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        int64_t n = m_embed_as(h, line, (int64_t)strcspn(line, "\n"),
                               argc > 1 ? &o : NULL, out);
        if (line[0] == '\n' && n == ATTN_ERROR_LENGTH)
            n = 0; /* the program answers an empty line with no rows */
        if (n < 0) {
            printf("%s\n", m_error(h));
            m_close(h);
            return 1;
        }
        for (int64_t i = 0; i < n * M_OUTPUT; i++)
            printf("%.9g%c", (double)out[i], (i + 1) % M_OUTPUT ? ' ' : '\n');
        printf("\n");
    }
    m_close(h);
    return 0;
}
