/* handle_calls.c: checks the promises of an open model, for an m.h generated
 * from models/g2p-en. It is linked with malloc() and free() wrapped, so that it
 * counts them. THREADS: number of threads of the C file. BLOCKS: allocations of
 * open(): 2, including one for the ids of a text, or 3 if a file is read.
 * argv[1] is the weights file. Prints each violation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holds.h"
#include "m.h"

static int allocated, freed, none; /* none: malloc() fails */
static size_t size;                /* of the first block */

void *__real_malloc(size_t n);
void __real_free(void *at);
void *__wrap_malloc(size_t n);
void __wrap_free(void *at);

void *__wrap_malloc(size_t n)
{
    if (none)
        return NULL;
    if (allocated++ == 0)
        size = n;
    return __real_malloc(n);
}

void __wrap_free(void *at)
{
    freed += at != NULL;
    __real_free(at);
}

static const char word[] = "attention", answer[] = "AH T EH N SH AH N";

struct taken {
    char text[256];
    int64_t n, calls, most; /* number of calls after which it returns 1 */
};

static int take(void *user, const char *text, int64_t n)
{
    struct taken *t = user;
    memcpy(t->text + t->n, text, (size_t)n);
    t->n += n;
    t->calls++;
    return t->calls == t->most;
}

/* Checks that the first block has the announced size, that calls allocate
 * nothing else, and that a failed open has no block for ids. */
static void check_memory(const char *path)
{
    char out[100];
    double x;
    struct attn_handle *h = m_open(path, NULL);
    struct taken t = { .most = -1 };
    HOLDS(!*m_error(h));
    HOLDS(allocated == BLOCKS);
    HOLDS((int64_t)size == m_memory(NULL));
    HOLDS(m_translate(h, word, -1, NULL, out, sizeof out) > 0);
    HOLDS(m_score(h, word, -1, answer, -1, &x) == 0);
    HOLDS(m_generate(h, word, NULL, take, &t) == 7);
    HOLDS(t.n == (int64_t)strlen(answer) && !memcmp(t.text, answer, 17));
    HOLDS(allocated == BLOCKS && freed == 0);
    m_close(h);
    HOLDS(freed == BLOCKS);
    h = m_open("LICENSE", NULL);
    HOLDS(*m_error(h));
    m_close(h);
    HOLDS(allocated == 2 * BLOCKS - 1 && freed == allocated);
}

/* Works until a request has ended. Returns its event. */
static struct attn_event work_until(struct attn_handle *h, int64_t id)
{
    struct attn_event e[3];
    int64_t n = 1;
    while (n > 0) {
        n = m_work(h, e, 3);
        for (int64_t i = 0; i < n; i++)
            if (e[i].id == id && e[i].ended)
                return e[i];
    }
    return (struct attn_event){ .n = -1 };
}

/* Checks that the memory of requests is that of open(). */
static void check_requests(const char *path)
{
    const struct attn_open_options o = { .batch = 2, .waiting = 1 };
    char out[100];
    HOLDS(m_memory(&o) > m_memory(NULL));
    struct attn_handle *h = m_open(path, &o);
    HOLDS(!*m_error(h));
    const int before = allocated;
    const int64_t id = m_submit(h, word, -1, NULL);
    HOLDS(id > 0 && m_submit(h, "ab", -1, NULL) > 0);
    const struct attn_event e = work_until(h, id);
    HOLDS(m_event_text(h, &e, out, sizeof out) == (int64_t)strlen(answer));
    HOLDS(!strcmp(out, answer));
    HOLDS(allocated == before);
    m_close(h);
}

/* Checks that all answers follow the grammar, that it is in the memory of
 * open(), and that its message has its place. */
static void check_grammar(const char *path)
{
    static const char follows[] = "K AH T EH";
    const struct attn_open_options plain = { .batch = 1 };
    const struct attn_open_options bad = { .grammar = "root ::=\n \"K\" x" };
    struct attn_open_options o = { .batch = 1 };
    char grammar[] =
        "root ::= \"K\" (\" \" s){1,3}\n"
        "s ::= \"AA\" | \"AH\" | \"EH\" | \"ER\" | [B-DF-HJ-NP-TV-Z]+";
    char out[100];
    o.grammar = grammar;
    HOLDS(m_memory(&o) == m_memory(&plain));
    struct attn_handle *h = m_open(path, &o);
    struct taken t = { .most = -1 };
    HOLDS(!*m_error(h));
    memset(grammar, 0, sizeof grammar); /* open() has copied it */
    const int before = allocated;
    HOLDS(m_translate(h, word, -1, NULL, out, sizeof out) == 9);
    HOLDS(!strcmp(out, follows));
    HOLDS(m_generate(h, word, NULL, take, &t) > 0);
    HOLDS(t.n == 9 && !memcmp(t.text, follows, 9));
    const struct attn_event e = work_until(h, m_submit(h, word, -1, NULL));
    HOLDS(m_event_text(h, &e, out, sizeof out) == 9 && !strcmp(out, follows));
    HOLDS(allocated == before);
    m_close(h);
    h = m_open(path, &bad);
    HOLDS(!strcmp(m_error(h), "grammar:2:6: there is no rule of this name"));
    HOLDS(m_translate(h, word, -1, NULL, out, sizeof out) == ATTN_ERROR_OPEN);
    m_close(h);
}

static void check_no_memory(const char *path)
{
    none = 1;
    struct attn_handle *h = m_open(path, NULL);
    none = 0;
    HOLDS(!h);
    HOLDS(!strcmp(m_error(h), "out of memory"));
    HOLDS(m_translate(h, word, -1, NULL, NULL, 0) == ATTN_ERROR_NULL);
    m_close(h);
}

/* Checks that, as with snprintf(), all bytes are counted and those that fit are
 * written. */
static void check_room(const char *path)
{
    struct attn_handle *h = m_open(path, NULL);
    const int64_t whole = (int64_t)strlen(answer);
    char out[32];
    int32_t ids[10], first[10] = { 0 };
    HOLDS(m_translate(h, word, -1, NULL, NULL, 0) == whole);
    for (int64_t cap = 1; cap < 20; cap++) {
        memset(out, '#', sizeof out);
        HOLDS(m_translate(h, word, 9, NULL, out, cap) == whole);
        HOLDS(!strncmp(out, answer, (size_t)cap - 1));
        HOLDS((int64_t)strlen(out) == (cap > whole ? whole : cap - 1));
        HOLDS(out[cap] == '#');
    }
    for (int i = 0; i < 10; i++)
        ids[i] = 4 + i;
    const int64_t n = m_translate_ids(h, ids, 5, NULL, first, 10);
    int32_t some[10] = { -1, -1 };
    HOLDS(n > 1 && n <= 10);
    HOLDS(m_translate_ids(h, ids, 5, NULL, some, 1) == n);
    HOLDS(some[0] == first[0] && some[1] == -1);
    m_close(h);
}

/* Checks that greedy text arrives token by token, and ends when the callback
 * asks. */
static void check_stop(const char *path)
{
    struct attn_handle *h = m_open(path, NULL);
    struct attn_search_options o;
    m_options(&o);
    o.beam = 1;
    for (int most = 1; most < 9; most++) {
        struct taken t = { .most = most };
        const int64_t n = m_generate(h, word, &o, take, &t);
        HOLDS(n == (most < 7 ? most : 7));
        HOLDS(t.calls == n);
        HOLDS(!strncmp(t.text, answer, (size_t)t.n));
    }
    m_close(h);
}

/* Checks that calls beyond the options of open fail with a message. */
static void check_sizes(const char *path)
{
    struct attn_open_options o = { .max_input = 6, .max_output = 4 };
    struct attn_search_options wide;
    struct attn_handle *h = m_open(path, &o);
    char out[64];
    HOLDS(m_memory(&o) < m_memory(NULL));
    HOLDS(m_translate(h, "atten", -1, NULL, out, 64) > 0);
    HOLDS(strlen(out) < 12); /* four phones */
    HOLDS(m_translate(h, word, -1, NULL, out, 64) == ATTN_ERROR_LENGTH);
    HOLDS(strstr(m_error(h), "max_input"));
    HOLDS(m_translate(h, "atten", -1, NULL, out, 64) > 0);
    HOLDS(!*m_error(h));
    m_options(&wide);
    wide.beam = 16;
    HOLDS(m_translate(h, "atten", -1, &wide, out, 64) == ATTN_ERROR_ROOM);
    HOLDS(strstr(m_error(h), "beam"));
    m_close(h);
    o.beam = 16;
    h = m_open(path, &o);
    HOLDS(m_translate(h, "atten", -1, &wide, out, 64) > 0);
    m_close(h);
    o.max_text = 3;
    h = m_open(path, &o);
    HOLDS(m_translate(h, "atten", -1, NULL, out, 64) == ATTN_ERROR_LENGTH);
    HOLDS(strstr(m_error(h), "max_text"));
    HOLDS(m_translate(h, "ten", -1, NULL, out, 64) > 0);
    m_close(h);
}

/* Checks that an answer with a draft is the one without. */
static void check_draft(const char *path, const struct attn_open_options *with)
{
    const struct attn_open_options o = *with;
    struct attn_handle *h = m_open(path, &o);
    struct attn_search_options greedy;
    struct taken t = { .most = -1 };
    HOLDS(m_memory(&o) >= m_memory(NULL));
    m_options(&greedy);
    greedy.beam = 1;
    HOLDS(m_generate(h, word, &greedy, take, &t) == 7);
    HOLDS(t.n == (int64_t)strlen(answer) && !memcmp(t.text, answer, 17));
    m_close(h);
}

/* Checks that an answer for which another handle proposes is the same. */
static void check_drafter(const char *path)
{
    struct attn_handle *small = m_open(path, NULL);
    struct attn_drafter by = { 0 };
    HOLDS(m_drafter(small, &by) == 0);
    check_draft(path, &(struct attn_open_options){ .draft = ATTN_DRAFT_MODEL,
                                                   .drafter = &by });
    m_close(small);
}

/* Checks that threads give the same bits, also without the hash. */
static void check_threads(const char *path)
{
    struct attn_open_options o = { .threads = THREADS, .unchecked = 1 };
    struct attn_handle *one = m_open(path, NULL), *many = m_open(path, &o);
    double x = 0.0, y = 1.0;
    char out[64];
    HOLDS(!*m_error(many));
    HOLDS(m_score(one, word, -1, answer, -1, &x) == 0);
    HOLDS(m_score(many, word, -1, answer, -1, &y) == 0);
    HOLDS(x == y);
    HOLDS(m_translate(many, word, -1, NULL, out, 64) == 17);
    HOLDS(!strcmp(out, answer));
    m_close(many);
    m_close(one);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL;
    check_memory(path);
    check_no_memory(path);
    check_requests(path);
    check_grammar(path);
    check_room(path);
    check_stop(path);
    check_sizes(path);
    check_draft(path, &(struct attn_open_options){ .draft = ATTN_DRAFT_NGRAM });
    check_drafter(path);
    check_threads(path);
    HOLDS(freed == allocated + (THREADS > 1)); /* the pool, by another */
    return failed;
}
