/* core.h: what a compiled model is, and the decoder that drives it.
 *
 * Plain C11 without malloc or stdio. This text and the core's sources are
 * linked into attnc and pasted into emitted files, so both run one decoder.
 * All memory is the caller's.                                               */
#ifndef ATTN_CORE_2
#define ATTN_CORE_2

#include <stddef.h>
#include <stdint.h>

#ifndef ATTN_API
#define ATTN_API
#endif

enum {
    ATTN_PAGE = 64, /* positions of one page of a cache */
    ATTN_SELF = 0,
    ATTN_CROSS = 1,
    /* kinds of models */
    ATTN_ENCODER_DECODER = 0,
    ATTN_ENCODER = 1,
    ATTN_DECODER = 2,
    ATTN_ATTENTION = 3
};

/* Errors, all below 0; error_text() has them in words. ATTN_STREAM_END and
 * ATTN_STREAM_FULL, of a stream's next token alone, are none.               */
enum {
    ATTN_ERROR_ROOM = -1,     /* too little memory, or room for a result */
    ATTN_ERROR_UNKNOWN = -2,  /* text that the vocabulary does not have */
    ATTN_ERROR_UTF8 = -3,     /* text that is not UTF-8 */
    ATTN_ERROR_NULL = -4,     /* a pointer is NULL that may not be */
    ATTN_ERROR_COUNT = -5,    /* a count, a size: below 0, or too large */
    ATTN_ERROR_LENGTH = -6,   /* a length that the model does not take */
    ATTN_ERROR_TABLE = -7,    /* starts that do not go up from 0; pages,
                                 rows, sources outside of what there is */
    ATTN_ERROR_ID = -8,       /* an id, a type that the model lacks */
    ATTN_ERROR_OPTION = -9,   /* an option out of its range */
    ATTN_ERROR_KIND = -10,    /* this kind of model does not do that */
    ATTN_ERROR_OPEN = -11,    /* no stream, text or vocabulary that was
                                 opened, or no other slot of its room */
    ATTN_ERROR_STATE = -12,   /* a state that is damaged, or of another
                                 model */
    ATTN_ERROR_ALIGNED = -13, /* memory that is not at the multiple of
                                 bytes that it has to be at */
    ATTN_ERROR_FINITE = -14   /* logits, or their weights, not finite */
};
enum { ATTN_MOST = (1 << 29) - 1 }; /* rows, sequences, tokens, threads */

/* A caller's threads. run() calls part(arg, i, parts) once for each i from 0 to
 * parts - 1 and returns when all are done. They may run at once, in any order,
 * or one after the other on one thread: no part waits for another. Results are
 * the same bits for any number of parts, and a model asks for no more than what
 * the work is worth.                                                        */
struct attn_parallel {
    int64_t parts; /* the most of them; an arena has room for */
    void *pool;    /* run()'s first argument */
    void (*run)(void *pool, int64_t parts,
                void (*part)(void *arg, int64_t part, int64_t parts),
                void *arg);
};

/* One call of an entry works on a batch: sequences of any lengths, their rows
 * one after the other, nothing padded.                                      */
struct attn_batch {
    int64_t sequences;
    int64_t rows;          /* of all sequences together */
    const int32_t *start;  /* [sequences + 1] first row of each */
    const int32_t *ids;    /* [rows] token ids */
    const int32_t *past;   /* [sequences] decode: rows in the cache */
    const int32_t *select; /* [selected] decode: rows that want logits */
    int64_t selected;      /* not more than rows */
    /* caches: page q of sequence s begins at
     * pool[c] + pages[c][s * table[c] + q] * page_floats[c] of the model    */
    float *pool[2]; /* at a multiple of 64 bytes */
    const int32_t *pages[2];
    int64_t table[2];           /* entries of a sequence in pages[] */
    const int32_t *source;      /* [sequences] decode: row of pages[CROSS] */
    const int32_t *source_rows; /* [sources] decode: keys of each such row */
    int64_t pool_pages[2];      /* pages of pool[] and rows of pages[CROSS]: */
    int64_t sources;            /* checks alone look at these two */
    const int32_t *prefix;      /* [sequences] masking prefix: keys that all
                                   rows of a sequence see; NULL: none */
    const int32_t *types;       /* [rows] token types; NULL: all 0 */
    const float *input;         /* rows of numbers in place of ids; a class
                                   token is not among them, but in output */
    /* kind attention: rows of numbers; keys have their own lengths */
    const float *query, *key, *value;
    int64_t key_rows;
    const int32_t *key_start; /* [sequences + 1] */
    float *output;            /* [selected, output_columns] of decode; else
                                 [rows, ..], pooled [sequences, ..]. Encode
                                 of an encoder-decoder: unused, its result
                                 is the cross cache */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

/* A compiled model: constants and inner entries. Everything is a pure function
 * of its arguments; nothing is global, so threads may share one model. The
 * inner entries check nothing: an id or a length that is out of range is a
 * fault in memory. The functions around them, NAME_encode() .., check.      */
struct attn_model {
    const char *name;
    int64_t kind; /* ATTN_ENCODER_DECODER .. */
    int64_t d_model, source_vocab, target_vocab;
    int64_t max_source, max_target;
    int64_t input_width;    /* numbers in a row; 0: token ids are read */
    int64_t class_token;    /* 1: inner encode() skips the first row */
    int64_t types;          /* of tokens; 0: it reads none */
    int64_t output_columns; /* numbers in a row of the result */
    int64_t output_pooled;  /* 1: it has a row for each sequence */
    int64_t weights_bytes;  /* of the packed weights */
    int64_t weight_bits;    /* of a number in a matrix: 32, 16 (bf16) */
    uint64_t weights_hash;  /* of names, shapes, layout: as in the file */
    uint64_t spec_hash;     /* of all that decides what is computed */
    const char *command;    /* that packs its weights */
    int64_t bound_bytes;    /* of the struct that bind() fills, and room
                               for what open() says */
    /* caches: a page holds, for each of blocks[c] (layer, head) pairs, keys
     * [4][d_k][16], then values [v_panels][64][16] (panels of 16 columns).  */
    int64_t page_floats[2]; /* 0: the model has no such cache */
    int64_t blocks[2], d_k[2], v_panels[2];
    int64_t (*arena_bytes)(int64_t rows, int64_t sequences, int64_t parts);
    void (*bind)(void *bound, const void *packed);
    void (*encode)(const void *bound, const struct attn_batch *, void *arena);
    void (*decode)(const void *bound, const struct attn_batch *, void *arena);
    /* log(sum(exp(x[0..n-1]))), vectorised, the same bits everywhere */
    float (*log_sum_exp)(const float *x, int64_t n);
};

/* ----------------------------------------------------------- memory.c --- */
/* Cuts the caller's memory into arrays of 64-byte alignment. With base NULL it
 * only counts, so sizes are computed by the code that lays out.             */
struct attn_memory {
    char *base;
    int64_t used; /* bytes; -1: sizes overflow */
};
enum { ATTN_ALIGN = 64 };
ATTN_API void *attn_take(struct attn_memory *m, int64_t count, int64_t size);
/* `memory` from its first aligned byte on (attn_memory_bytes allows for it). */
ATTN_API void attn_memory_open(struct attn_memory *m, void *memory);
ATTN_API int64_t attn_memory_bytes(const struct attn_memory *m);
ATTN_API int64_t attn_min(int64_t a, int64_t b);
ATTN_API int64_t attn_max(int64_t a, int64_t b);
/* Parts that an arena needs room for; NULL: 1. */
ATTN_API int64_t attn_parts(const struct attn_parallel *p);

/* ------------------------------------------------------------- hash.c --- */
/* XXH64 of a block at any address. Words are read as this machine has them. */
ATTN_API uint64_t attn_hash(const void *block, int64_t bytes, uint64_t seed);

/* ------------------------------------------------------------ cache.c --- */
/* Pages of keys and values, shared between sequences by counting. A slot is
 * one sequence's row in the table. Full pages are shared; an open page is
 * copied when a second writer needs it, the used part of it alone.          */
struct attn_cache {
    float *pool;        /* [pages] page_floats each, 64-byte aligned */
    int32_t *table;     /* [slots][width] page of each 64 positions */
    int32_t *length;    /* [slots] positions stored */
    int32_t *refs;      /* [pages] readers of each page */
    int32_t *free_list; /* [pages] stack of free pages */
    int64_t slots, width, pages, free_count;
    int64_t page_floats, blocks, d_k, v_panels;
};
/* Bytes for `slots` sequences of up to `length` positions, `spare` pages more
 * (negative: fewer) than slots * ceil(length / 64), which is always enough.
 * -1: too large for int64. The memory may have any alignment.               */
ATTN_API int64_t attn_cache_bytes(const struct attn_model *m, int which,
                                  int64_t slots, int64_t length, int64_t spare);
ATTN_API void attn_cache_init(struct attn_cache *c, const struct attn_model *m,
                              int which, int64_t slots, int64_t length,
                              int64_t spare, void *memory);
/* Lengthens `slot` by `rows` positions, whose pages are the slot's alone: an
 * open page that others also read is copied first. 0; or -1, and nothing has
 * changed but for that copy, when pages or the table do not suffice.        */
ATTN_API int attn_cache_grow(struct attn_cache *c, int64_t slot, int64_t rows);
ATTN_API void attn_cache_release(struct attn_cache *c, int64_t slot);
/* Forgets the positions from `length` on. */
ATTN_API void attn_cache_cut(struct attn_cache *c, int64_t slot,
                             int64_t length);
/* Slot `to` becomes what slot `from` is: they share its pages. */
ATTN_API void attn_cache_fork(struct attn_cache *c, int64_t from, int64_t to);
/* Slot i becomes what slot parent[i] was, for i in 0..n-1, all at once; later
 * slots become empty. Nothing is copied but tables.                         */
ATTN_API void attn_cache_reorder(struct attn_cache *c, const int32_t *parent,
                                 int64_t n, int32_t *scratch /* [n*width+n] */);

/* ------------------------------------------------------------- math.c --- */
ATTN_API float attn_exp(float x); /* <= 1.5 ulp; own, so that all agree */
ATTN_API float attn_log(float x); /* <= 2 ulp, x > 0 */
/* Of a token with this logit; never above 0, whatever the rounding. */
ATTN_API float attn_log_probability(float logit, float log_sum_exp);

enum { ATTN_BLOCK = 64 }; /* logits that are passed over at once */
/* Is one of x[0..n-1] larger than that? */
ATTN_API int attn_any_above(const float *x, int64_t n, float least);

/* ----------------------------------------------------------- process.c --- */
/* Logits processors: a table of functions run on each row of logits before
 * the search looks at it. -INFINITY forbids a token, whose probability falls
 * to the others: answers' scores are of the processed logits.               */
struct attn_process {         /* options; zero means off */
    int64_t min_length;       /* end is forbidden before this many tokens */
    float repetition_penalty; /* 0, 1: off */
    int64_t no_repeat_ngram;
    const int32_t *suppress; /* sequences, each: length, then its tokens */
    int64_t suppress_size;   /* entries of suppress[] */
    const int32_t *forbid;   /* tokens never produced (start, pad), but for
                                end, which always may be */
    int64_t forbid_count;
};
/* Are the options right? 0, or an error. */
ATTN_API int attn_check_process(const struct attn_process *p, int64_t vocab);
/* Can a token be chosen? Not where a logit is NaN or INFINITY, or none is
 * finite. One of -INFINITY is a token that the model never gives.           */
ATTN_API int attn_logits_finite(const float *logits, int64_t n);
ATTN_API void attn_process_logits(const struct attn_process *p, float *logits,
                                  int64_t vocab, const int32_t *tokens,
                                  int64_t n /* so far, prefix included */,
                                  int32_t end);
/* Those of `forbid`, once the probabilities are known: theirs falls to nobody,
 * so that an answer's score is what attn_score gives it.                    */
ATTN_API void attn_forbid_logits(const struct attn_process *p, float *logits,
                                 int64_t vocab, int32_t end);

/* --------------------------------------------------------- sampling.c --- */
/* Sampling: drawing tokens instead of taking the best. In this order: logits
 * are divided by the temperature; the top_k best stay; of these the best that
 * have top_p of the probability; of these those that are min_p times as
 * probable as the best. Zero means off.                                     */
struct attn_sampling {
    float temperature;  /* 0: the best token, always */
    float top_p, min_p; /* 0 .. 1 */
    int64_t top_k;
    int64_t seed;
};
/* Is every number in its range? */
ATTN_API int attn_sampling_fits(const struct attn_sampling *o);
/* In [0, 1): the same for the same seed and counter. */
ATTN_API double attn_random(int64_t seed, int64_t counter);
/* A token; -1: none is allowed. counter: tokens of the answer so far. order:
 * [vocab], to work in.                                                      */
ATTN_API int64_t attn_sample(const struct attn_sampling *o, const float *logits,
                             int64_t vocab, int64_t counter, int32_t *order);

/* ---------------------------- beam.c, search_memory.c, search.c --- */
enum { ATTN_RULE_EXACT = 0, ATTN_RULE_RECORDED = 1 };
enum { ATTN_PENALTY_NONE = 0, ATTN_PENALTY_GNMT = 1, ATTN_PENALTY_POWER = 2 };

struct attn_search_options {
    int64_t beam;    /* 1: greedy */
    int64_t results; /* hypotheses wanted of each sentence */
    int64_t rule, penalty;
    float alpha;
    int64_t max_output;      /* tokens, the end token counted; 0: as many
                                as the model has positions for */
    int64_t max_output_plus; /* >= 0: limit is source rows + this too */
    int64_t max_input;       /* > 0: longer inputs are cut */
    float patience;          /* recorded: stop at round(beam*patience) */
    int32_t start, end;
    int64_t want_scores; /* greedy: 0 skips the log-probabilities */
    struct attn_process process;
    struct attn_sampling sampling;        /* beam 1 alone */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

struct attn_hypothesis {   /* one answer; memory in the search's arena */
    const int32_t *tokens; /* without start and end; prefix included */
    int64_t n;
    int64_t ended;         /* the end token came (else the limit did) */
    float score;           /* by the penalty rule */
    float log_probability; /* summed, without penalty */
};

/* How a token is chosen: start, end, process, sampling; and threads. 0, or an
 * error.                                                                    */
ATTN_API int attn_check_choice(const struct attn_model *m,
                               const struct attn_search_options *o);

/* What a search knows of one sentence, and (beam.c) its rules. */
struct attn_candidate {    /* an open hypothesis, longer by a token */
    float sum;             /* of log-probabilities */
    int32_t parent, token; /* token -1: an empty place */
};
struct attn_beam {
    const struct attn_search_options *o;
    int64_t limit;           /* tokens, the end token counted */
    int64_t prefix;          /* forced tokens */
    int64_t length;          /* tokens of each open hypothesis */
    int64_t open;            /* open hypotheses; 0: the search is done */
    float *sum;              /* [beam] log-probability of each */
    int32_t *tokens, *spare; /* [beam][width], and room for the next */
    int64_t width;
    struct attn_candidate *list;  /* [2 * beam] this step's best, best first */
    int64_t listed, room;         /* room: 2 * beam */
    int32_t *answers;             /* [results][width] tokens of the best */
    int32_t *order;               /* [vocab] to sample in, or NULL */
    int64_t recorded, top_ended;  /* answers so far; first place ended once */
    struct attn_hypothesis *best; /* [results] best first */
    int64_t found;
};
/* Divisor of a log-probability of `length` tokens. */
ATTN_API float attn_length_divisor(const struct attn_search_options *o,
                                   int64_t length);
/* Offers hypothesis `parent` with every token to the list (greedy: its best).
 * Logits of -INFINITY are never listed; NaN must not be there.              */
ATTN_API void attn_beam_offer(struct attn_beam *b, int32_t parent,
                              const float *logits, int64_t vocab,
                              float log_sum_exp);
/* Ends a step: records answers, extends what stays open, writes the parent of
 * each open hypothesis, sets open to 0 when the search is done.             */
ATTN_API void attn_beam_advance(struct attn_beam *b, int32_t *parents);
/* Records hypothesis `parent`, with `token` (-1: as it stands). */
ATTN_API void attn_beam_record(struct attn_beam *b, int32_t parent,
                               int32_t token, float sum);

/* What a search knows of all of them, and (search_memory.c) its sizes. */
struct attn_search_state {
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    int64_t sentences, source_rows, longest, prefix_n;
    int64_t limit, positions; /* the most of any sentence */
    struct attn_cache self, cross;
    struct attn_beam *beam;  /* [sentences] */
    struct attn_batch batch; /* and the arrays that it points to: */
    int32_t *source_ids, *source_start, *source_rows_of;
    int32_t *ids, *start, *past, *select, *source;
    int32_t *parents, *scratch;
    float *logits;  /* [slots][target_vocab] */
    int32_t *order; /* [target_vocab] where tokens are sampled */
    void *arena;
};
/* Rows that the decoder reads before the first token of an answer to a source
 * of `rows` rows. */
ATTN_API int64_t attn_search_lead(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  int64_t rows);
/* Is a source of `rows` rows a question? One of none is where the decoder reads
 * a start token, and has room for an answer.                                */
ATTN_API int attn_search_asks(const struct attn_model *m,
                              const struct attn_search_options *o,
                              int64_t rows);
/* Tokens that such an answer may have: the last needs no position, for it is
 * never read. */
ATTN_API int64_t attn_search_limit(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t rows, int64_t lead);
/* Cuts source_rows and longest by the options, then sets the other sizes, the
 * arrays and the caches. */
ATTN_API void attn_search_lay_out(struct attn_search_state *s,
                                  struct attn_memory *at);

/* Memory for attn_search of up to `sentences` sources with `source_rows` rows
 * in sum and `longest` in one, and `prefix_n` forced tokens; or an error.   */
ATTN_API int64_t attn_search_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t sentences, int64_t source_rows,
                                   int64_t longest, int64_t prefix_n);
/* Encodes all sources, searches all of them at once (finished ones leave the
 * batch), writes the best o->results of sentence s to out[s * o->results ..],
 * count to found[s], or ATTN_ERROR_FINITE. prefix: forced first tokens, the
 * same for all sentences or NULL. For kind decoder `ids` are the prompts: it
 * reads start (where that is not -1), prompt, prefix; answers begin after the
 * prompt. A source that asks nothing has no answers. Returns 0, or an error: a
 * prefix longer than the limit is one. The answers' tokens lie in `memory`.  */
ATTN_API int attn_search(const struct attn_model *m, const void *bound,
                         const struct attn_search_options *o, int64_t sentences,
                         const int32_t *ids, const int32_t *start,
                         const int32_t *prefix, int64_t prefix_n, void *memory,
                         int64_t bytes, struct attn_hypothesis *out,
                         int64_t *found);
/* Bytes of memory that generate() needs for `sentences` sources, `source_rows`
 * tokens in all, `longest` in one; or an error.                             */
ATTN_API int64_t attn_generate_bytes(const struct attn_model *m,
                                     const struct attn_search_options *o,
                                     int64_t sentences, int64_t source_rows,
                                     int64_t longest);
/* Answers all sentences: s has the tokens from ids[start[s]] to before
 * ids[start[s + 1]]; its o->results best answers go to out[s * o->results] and
 * on, their number to found[s], or ATTN_ERROR_FINITE; their tokens lie in
 * `memory`. A sentence of no tokens has no answer, but by a decoder with a
 * start token, which goes on from that. 0, or an error.                     */
ATTN_API int attn_generate(const struct attn_model *m, const void *bound,
                           const struct attn_search_options *o,
                           int64_t sentences, const int32_t *ids,
                           const int32_t *start, void *memory, int64_t bytes,
                           struct attn_hypothesis *out, int64_t *found);
/* Log-probability of each given target token (the end token included by the
 * caller) of one sentence pair: one pass over the whole target. 0, or an
 * error.                                                                    */
ATTN_API int attn_score(const struct attn_model *m, const void *bound,
                        int32_t start_token, const int32_t *source, int64_t n,
                        const int32_t *target, int64_t target_n,
                        const struct attn_parallel *parallel, void *memory,
                        int64_t bytes, float *log_probability);
ATTN_API int64_t attn_score_bytes(const struct attn_model *m, int64_t n,
                                  int64_t target_n,
                                  const struct attn_parallel *parallel);

#include "check.h"
#include "stream.h"
#include "text.h"

#endif
