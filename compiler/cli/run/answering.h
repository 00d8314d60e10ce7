/* answering.h: attnc run and attnc score are runtime/program, the program of an
 * emitted file, on the model of an engine. run_generate.c and run_rows.c
 * include its sources as the emitter pastes them. Here is what they find in the
 * place of its options, messages and files, and of what the emitter writes of a
 * spec.  */
#ifndef ATTNC_CLI_ANSWERING_H
#define ATTNC_CLI_ANSWERING_H

#include "runtime/program/program.h"

#include "cli/options/options.h"

struct answering {
    Engine e;
    struct program p;
    struct attn_chat chat;
    int32_t unwritten[2];
    File state; /* of --load-state */
    /* JSON */
    Buffer object;                        /* that is written */
    char why[PROGRAM_PARTS][PROGRAM_WHY]; /* what is wrong with a part */
    int64_t part;                         /* that was refused last */
    FILE *to;   /* where the answer to --prompt goes */
    FILE *text; /* and, until it ends, its text */
    char *at;
    size_t bytes, begin; /* of all text; where the answer begins in it */
    VEC(int32_t) ids;    /* of the answer */
};

/* Asks for lines to be answered, or for what `use` says: ATTN_FOR_SCORE .. */
void answering_begin(struct answering *w, bool ids, bool json);
/* Asks for what the options of attnc run say. */
void answering_run(struct answering *w, const RunCommand *o);
/* Opens the engine. Returns an exit code. */
int answering_open(struct answering *w, const EngineOptions *o);
/* The same with an engine that is open, and is not to be closed. */
void answering_with(struct answering *w, const Engine *e);
/* Closes it. Returns the exit code of what was answered. */
int answering_close(struct answering *w, int code);

/* The program of a model that generates, and below that of all others. */
int generate_use(struct program *p); /* program_use() */
void generate_answers(struct program *p);
/* Reads a line as ids at p->items, none of an empty one. Returns their number;
 * -1: p->why.                                                               */
int64_t generate_question(struct program *p, const char *line, int64_t bytes);
/* Reads a line of quantize --text as ids of an input and an output. For a
 * decoder it also takes a line without a tab, as an output to an empty input;
 * if no start token stands before it, its first token becomes the input.
 * Returns false, with p->why, if the model does not take it. */
bool generate_pair(struct program *p, const char *text, int64_t bytes,
                   struct score_pair *x);
/* Reads a line of stdin. Returns false if there is none, or it is too long. */
bool generate_line(struct program *p, const char **text, int64_t *bytes);
/* Prints the best answer to the n tokens at p->items. Returns the number of the
 * tokens that the decoder reads of it, start and prompt before it, which are
 * *ids then; -1: p->status, after a message of --attention.                 */
int64_t generate_best(struct program *p, int64_t n, FILE *to, int32_t **ids);
void generate_close(struct program *p); /* frees what its calls made */
void rows_answers(struct program *p);

/* ---- for the program ---- */
#define options_of_spec(o) \
    (*(o) = spec_search(p->of->e.spec, p->of->unwritten))
#define spec_states_beam spec_has(p->of->e.spec, "search.beam")
#define spec_has_chat spec_chats(p->of->e.spec)
#define chat_of_spec (p->of->chat)
#define state_may_replace(p) ((void)(p)) /* guard.c has looked */

void program_fail(struct program *p, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void program_warn(struct program *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void program_refuse(struct program *p, int64_t line);
const char *program_map(struct program *p, const char *path, int64_t *bytes);
void state_put(struct program *p, const char *state, int64_t bytes);
/* How many lines are answered, where a person waits. */
void answering_progress(int64_t lines, bool end);

/* run_json.c: answers as JSON, without the end of the line. */
void answers_json(struct program *p, int64_t part,
                  const struct attn_hypothesis *h, int64_t found);
void rows_json(struct program *p, int64_t part, const float *x, int64_t rows);
int score_json(struct program *p, double sum, const int32_t *ids, int64_t n,
               const float *scores); /* 0; scores NULL: p->why */
/* The answer to --prompt: the file that its text goes to; a token, false: it
 * has a text; the first token comes; the end, and where the object went. */
FILE *prompt_json_begin(struct program *p, FILE *to);
bool prompt_json_add(struct program *p, int32_t id);
void prompt_json_answer(struct program *p);
FILE *prompt_json_end(struct program *p, int64_t prompt, bool stopped,
                      int64_t token);

#endif
