/* answering.h: runs runtime/program, the program in emitted files, with an
 * engine as its model, for attnc run and attnc score. run_generate.c and
 * run_rows.c include the program's sources, as an emitted file does. This
 * header replaces the parts that the emitter writes: options, messages, files,
 * and facts about the spec. */
#ifndef ATTNC_CLI_ANSWERING_H
#define ATTNC_CLI_ANSWERING_H

#include "runtime/program/program.h"

#include "cli/options/options.h"

struct answering {
    Engine e;
    struct program p;
    struct attn_chat chat;
    int32_t unwritten[2];
    struct attn_model model; /* the engine's, with these texts */
    struct attn_texts texts;
    struct attn_task task[3]; /* by number of the task */
    File state;               /* file of --load-state */
    File grammar;             /* file of --grammar */
    Engine small;             /* the model of --draft */
    struct attn_drafter drafter;
    bool schema; /* p.set.grammar is the file of --json-schema */
    /* JSON output */
    Buffer object;                     /* JSON object that is being written */
    char why[PROGRAM_PARTS][ATTN_WHY]; /* why[i]: error in part i */
    int64_t part;                      /* last part with a bad question */
    FILE *to;                          /* stream for the answer to --prompt */
    FILE *text;                        /* collects the text of this answer */
    char *at;
    size_t bytes, begin; /* bytes of all text so far; start of the answer */
    VEC(int32_t) ids;    /* ids of the answer */
};

/* Prepares `w` for answering lines. The caller may set p.use, e.g. to
 * ATTN_FOR_SCORE. */
void answering_begin(struct answering *w, bool ids, bool json);
/* Like answering_begin(), with the options of attnc run. */
void answering_run(struct answering *w, const Options *o);
/* Opens the engine. Returns an exit code. */
int answering_open(struct answering *w, const EngineOptions *o);
/* Uses an engine that is already open. In this case, answering_close() must not
 * be called. */
void answering_with(struct answering *w, const Engine *e);
/* Closes the engine. Returns `code`, or the program's status if it is 0. */
int answering_close(struct answering *w, int code);

/* The program for models that generate; rows_answers() is the one for all other
 * models. */
int generate_use(struct program *p); /* implements program_use() */
void generate_answers(struct program *p);
/* Converts a line to ids and stores them at p->items. Returns their number, 0
 * for an empty line, or -1 with p->why. */
int64_t generate_question(struct program *p, const char *line, int64_t bytes);
/* Converts a line of quantize --text to the ids of an input and an output. For
 * a decoder, a line without a tab is an output with an empty input; if there is
 * no start token, its first token is the input. Returns false, with p->why, if
 * the line is not valid for the model. */
bool generate_pair(struct program *p, const char *text, int64_t bytes,
                   struct score_pair *x);
/* Reads a line of stdin. Returns false at the end, or if the line is too
 * long. */
bool generate_line(struct program *p, const char **text, int64_t *bytes);
/* Prints the best answer to the n tokens at p->items. Sets *ids to the tokens
 * that the decoder reads for it: start token, prompt and answer. Returns their
 * number, or -1 after a message about --attention, with p->status. */
int64_t generate_best(struct program *p, int64_t n, FILE *to, int32_t **ids);
void generate_close(struct program *p); /* frees what those calls allocated */
void rows_answers(struct program *p);

/* ---- for the program ---- */
#define options_of_spec(o) \
    (*(o) = spec_search(p->of->e.spec, p->of->unwritten))
#define spec_states_beam spec_has(p->of->e.spec, "search.beam")
#define spec_has_chat spec_chats(p->of->e.spec)
#define chat_of_spec (p->of->chat)
#define grammar_of_program NULL /* only an emitted program has one inside */
#define GRAMMAR_OF_PROGRAM 0
#define state_may_replace(p) ((void)(p)) /* checked before by guard.c */

#define program_fail(p, code, ...) \
    (error_at((Pos){ 0 }, __VA_ARGS__), (void)((p)->status = (code)))
#define program_warn(p, ...) ((void)(p), warning_at((Pos){ 0 }, __VA_ARGS__))
void program_refuse(struct program *p, int64_t line);
const char *program_map(struct program *p, const char *path, int64_t *bytes);
/* Opens the model of --draft. After a message, p->status is not 0. */
const struct attn_drafter *program_drafter(struct program *p);
void state_put(struct program *p, const char *state, int64_t bytes);
/* Returns true if the call for the parts so far needs so much memory, such as
 * for logits of all rows, that no other part is added. */
bool batch_is_large(const struct program *p);
/* Prints the number of answered lines if stderr is a terminal. */
void answering_progress(int64_t lines, bool end);

/* shard.c: what program_shard.c describes. */
void shard_words(struct program *p);
void shard_start(struct program *p);
void shard_stop(struct program *p);
bool shard_skips(struct program *p, const char *line, int64_t bytes,
                 bool is_long);
bool shard_block_ends(const struct program *p);
void shard_answered(struct program *p);
void shard_end(struct program *p);

/* run_npy.c: writes the head of a .npy file of float32 [rows, columns]. */
void npy_head(char head[ATTN_NPY_HEAD], int64_t rows, int64_t columns);
/* --format=npy, without --shard: checks that stdout is a file, which
 * gets its head at the end. */
void npy_begin(struct program *p);
void npy_end(struct program *p);
/* Prints the rows; if the model pools and gives none, a row of NaN. */
void rows_npy(struct program *p, const float *x, int64_t rows);

/* run_json.c: print answers as JSON objects, without newlines. */
void answers_json(struct program *p, int64_t part,
                  const struct attn_hypothesis *h, int64_t found);
void rows_json(struct program *p, int64_t part, const float *x, int64_t rows);
void score_json(struct program *p, const struct score_pair *x, double sum,
                const float *scores); /* scores NULL: the part was rejected */
/* Print the answer to --prompt as JSON. prompt_json_begin() returns a stream
 * that collects the text. prompt_json_add() records a token; if it returns
 * false, the caller writes the token's text to the stream. prompt_json_answer()
 * marks the beginning of the answer by discarding earlier tokens.
 * prompt_json_end() prints the object to `to` and returns `to`. */
FILE *prompt_json_begin(struct program *p, FILE *to);
bool prompt_json_add(struct program *p, int32_t id);
void prompt_json_answer(struct program *p);
FILE *prompt_json_end(struct program *p, int64_t prompt, bool stopped,
                      int64_t token);

#endif
