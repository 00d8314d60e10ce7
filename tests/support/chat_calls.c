/* chat_calls.c: the conversation of an open model, for a generated m.h whose
 * weights are inside. Answers each line of stdin as --chat of the program does;
 * "/new" and "/new TEXT" begin a new conversation, with TEXT as the system's.
 * Arguments: DRAFT TEMPERATURE SEED [CHAT THREADS]. A draft of 2 is by the
 * model itself. Linked with -Wl,--wrap=malloc: only open() may allocate.
 * tests/emit/handle_chat_test.c compiles it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m.h"

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

static long blocks; /* allocated so far */

void *__wrap_malloc(size_t n)
{
    blocks++;
    return __real_malloc(n);
}

static int take(void *user, const char *text, int64_t bytes)
{
    (void)user;
    fwrite(text, 1, (size_t)bytes, stdout);
    return 0;
}

/* Prints why a call failed. */
static void refuse(struct attn_handle *h, int64_t n)
{
    if (n >= 0)
        return;
    fprintf(stderr, "%lld: %s\n", (long long)n, m_error(h));
}

static void answer(struct attn_handle *h, char *line,
                   const struct attn_search_options *o)
{
    const size_t n = strcspn(line, "\n");

    line[n] = '\0';
    if (strncmp(line, "/new", 4) == 0) {
        refuse(h, m_chat_begin(h, line[4] ? line + 5 : NULL));
        return;
    }
    /* an array of the options is gone after the call */
    static int32_t ends[2];
    static int turn;
    struct attn_search_options own;
    if (o) {
        own = *o;
        own.ends = &ends[++turn % 2];
        own.ends_count = 1;
        ends[turn % 2] = own.end;
    }
    refuse(h, m_chat(h, line, n % 2 ? -1 : (int64_t)n, o ? &own : NULL, take,
                     NULL));
    ends[turn % 2] = 1 << 30;
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct attn_drafter by;
    struct attn_handle *small = m_open(NULL, NULL);
    const struct attn_open_options options = {
        .chat = argc > 4 ? atoi(argv[4]) : M_MAX_TARGET,
        .threads = argc > 5 ? atoi(argv[5]) : 0,
        .draft = argc > 1 ? atoi(argv[1]) : 0,
        .drafter = &by,
    };
    struct attn_search_options o;
    char line[256];

    m_drafter(small, &by);
    struct attn_handle *h = m_open(NULL, &options);
    const long opened = blocks;
    m_options(&o);
    o.sampling.temperature = argc > 2 ? (float)atof(argv[2]) : 0.0f;
    o.sampling.seed = argc > 3 ? atoi(argv[3]) : 0;
    while (fgets(line, sizeof line, stdin))
        answer(h, line, argc > 2 ? &o : NULL);
    if (blocks != opened)
        fprintf(stderr, "%ld blocks after open()\n", blocks - opened);
    m_close(h);
    m_close(small);
    return 0;
}
