/* state.c: fuzzes a saved stream: checks it, restores it, continues it, and
 * saves it again. An input has a byte that selects the model and tells whether
 * the state is sealed, and the draft, then the state. Sealing sets the fields
 * that a writer would set (magic, size, model and hash), so that the fuzzer
 * reaches the code after those checks. */
#include <stdlib.h>
#include <string.h>

#include "support/fake_model.h"
#include "runtime/rt.h"
#include "fuzz.h"

enum { Weights = 7, Vocab = 40, Most = 301 };
enum { BitKind = 1, BitBare = 2, BitLonger = 4, BitFork = 8 };

static const size_t head_bytes = sizeof(struct attn_state_header);

/* Same as in state.c; make_state() detects when that changes. */
static uint64_t sum(const uint8_t *state, size_t bytes)
{
    return attn_hash(state + 16, (int64_t)bytes - 16, 2);
}

static struct attn_search_options greedy(void)
{
    return (struct attn_search_options){
        .beam = 1,
        .results = 1,
        .max_output = 20,
        .max_output_plus = -1,
        .patience = 1.0f,
        .alpha = 1.0f,
        .start = 1,
        .end = 2,
    };
}

static void fake_of(Fake *f, uint8_t head)
{
    fake_make(f, head & BitKind ? ATTN_DECODER : ATTN_ENCODER_DECODER, Vocab,
              1);
}

/* Saves a stream of n tokens in the caller's memory. */
static void *make_state(const Fake *f, int64_t n, int64_t *bytes)
{
    struct attn_search_options o = greedy();
    struct attn_stream s;
    int32_t ids[Most];
    const int64_t rows = f->model.kind == ATTN_DECODER ? 0 : n;
    const int64_t room = attn_stream_bytes(&f->model, &o, rows, Most, 1);
    void *memory = calloc(1, (size_t)room);
    for (int32_t i = 0; i < n; i++)
        ids[i] = i * 7 % Vocab;
    if (attn_stream_open(&s, &(struct attn_stream_request){
                                 .model = &f->model,
                                 .bound = f,
                                 .o = &o,
                                 .ids = ids,
                                 .n = n,
                                 .tokens = Most,
                                 .streams = 1,
                                 .memory = memory,
                                 .bytes = room,
                             }))
        fuzz_wrong("no stream");
    attn_stream_next(&s);
    *bytes = attn_state_bytes(&s);
    void *state = malloc((size_t)*bytes);
    attn_state_save(&s, Weights, state, *bytes);
    free(memory);
    if (sum(state, (size_t)*bytes) != ((struct attn_state_header *)state)->hash)
        fuzz_wrong("states are hashed in another way than here");
    return state;
}

static uint64_t model_of(const Fake *f)
{
    static uint64_t known[ATTN_ATTENTION];
    uint64_t *to = &known[f->model.kind];
    int64_t bytes;
    if (!*to) {
        struct attn_state_header *h = make_state(f, 1, &bytes);
        *to = h->model;
        free(h);
    }
    return *to;
}

static void seal(const Fake *f, uint8_t *state, size_t n)
{
    struct attn_state_header h;
    memcpy(&h, state, sizeof h);
    memcpy(h.magic, "ATTNST04", sizeof h.magic);
    h.bytes = (int64_t)n;
    h.model = model_of(f);
    memcpy(state, &h, sizeof h);
    h.hash = sum(state, n);
    memcpy(state, &h, sizeof h);
}

/* ---- restore ---- */
typedef struct {
    Fake f;
    uint8_t head;
    void *state;
    int64_t bytes;
} Input;

static void *restore(struct attn_stream *s, const Input *in, const void *state,
                     int64_t more)
{
    static struct attn_search_options o;
    static struct attn_drafter own;
    const struct attn_state_header *h = state;
    own = (struct attn_drafter){ &in->f.model, &in->f };
    o = greedy();
    o.draft = in->head / 64 % 3;
    o.drafter = &own;
    const int64_t tokens = attn_min(h->tokens + more, Most);
    const int64_t room = attn_stream_bytes(&in->f.model, &o, h->source_rows,
                                           attn_max(tokens, 1), 2);
    void *memory = room < 0 ? NULL : malloc((size_t)room);
    if (!memory)
        return NULL;
    if (attn_state_restore(s,
                           &(struct attn_restore_request){
                               .model = &in->f.model,
                               .bound = &in->f,
                               .o = &o,
                               .weights = Weights,
                               .state = state,
                               .bytes = in->bytes,
                               .tokens = attn_max(tokens, 1),
                               .streams = 2,
                               .memory = memory,
                               .memory_bytes = room,
                           })
        == 0)
        return memory;
    free(memory);
    return NULL;
}

static void go_on(struct attn_stream *s, uint8_t head)
{
    static const int32_t more[] = { 3, 1, 39, 40 };
    struct attn_stream fork;
    attn_stream_feed(s, more, 1 + head / 16 % 4);
    for (int i = 0; i < 3 && attn_stream_next(s) >= 0; i++)
        continue;
    if (head & BitFork && attn_stream_fork(&fork, s, 1) == 0)
        attn_stream_next(&fork);
}

/* Checks that a restored stream is saved as the same bytes, twice. */
static void save_twice(struct attn_stream *s, const Input *in)
{
    struct attn_stream again;
    void *one = malloc((size_t)in->bytes), *two = malloc((size_t)in->bytes);
    if (attn_state_save(s, Weights, one, in->bytes - 1) != -1
        || attn_state_save(s, Weights, one, in->bytes) != in->bytes)
        fuzz_wrong("saved in another number of bytes");
    void *memory = restore(&again, in, one, 9);
    if (!memory || attn_state_save(&again, Weights, two, in->bytes) != in->bytes
        || memcmp(one, two, (size_t)in->bytes) != 0)
        fuzz_wrong("what was saved is not what is restored");
    free(memory);
    free(one);
    free(two);
}

static int run(void *with)
{
    const Input *in = with;
    struct attn_stream s;
    if (attn_state_check(&in->f.model, Weights, in->state, in->bytes))
        return ExitInput;
    void *memory = restore(&s, in, in->state, in->head & BitLonger ? 9 : 0);
    if (!memory)
        return ExitInput;
    save_twice(&s, in);
    go_on(&s, in->head);
    free(memory);
    return ExitDone;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    Input in = { .head = *data, .bytes = (int64_t)size - 1 };
    fake_of(&in.f, in.head);
    in.state = malloc(size - 1 + (size == 1));
    memcpy(in.state, data + 1, size - 1);
    if (!(in.head & BitBare) && size - 1 >= head_bytes)
        seal(&in.f, in.state, size - 1);
    fuzz_run(run, &in);
    free(in.state);
    return 0;
}

/* ---- mutator ---- */
static size_t some_state(uint8_t *data, size_t most, FuzzDice *d)
{
    Fake f;
    int64_t bytes;
    const uint8_t head = (uint8_t)fuzz_dice(d, 256);
    fake_of(&f, head);
    void *state = make_state(&f, 1 + fuzz_dice(d, 3), &bytes);
    const size_t size = (size_t)bytes + 1;
    if (size <= most) {
        data[0] = head;
        memcpy(data + 1, state, (size_t)bytes);
    }
    free(state);
    return size <= most ? size : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 64);
    if (size <= head_bytes || what == 0)
        return most > 2048 && fuzz_dice(&d, 2)
                 ? some_state(data, most, &d)
                 : LLVMFuzzerMutate(data, size, most);
    if (what < 8) {
        data[0] ^= (uint8_t)(1u << fuzz_dice(&d, 8));
    } else if (what < 40) { /* a number of the head */
        int64_t x = fuzz_dice(&d, 4) ? fuzz_dice(&d, 70) : fuzz_number(&d);
        memcpy(data + 1 + 8 * fuzz_dice(&d, (uint32_t)head_bytes / 8), &x, 8);
    } else {
        size = fuzz_change(data, size, most, 1 + head_bytes,
                           size - 1 - head_bytes);
        while (what < 60 && (size - 1) % 8 != 0 && size < most)
            data[size++] = 0;
    }
    return size;
}
