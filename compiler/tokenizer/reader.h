/* reader.h: what the readers of tokenizers' files share. */
#ifndef ATTNC_TOKENIZER_READER_H
#define ATTNC_TOKENIZER_READER_H

#include <string.h>

#include "base/base.h"
#include "runtime/base/json.h"
#include "tokenizer/block.h"

enum {
    TokenizerLimit = 256 << 20, /* bytes of a file */
    MostIds = 1 << 22           /* of a vocabulary */
};

/* A tokenizer on its way from its files to a block. Its texts are in the
 * arena, in files and in JSON that are kept until it is closed.             */
typedef struct {
    Arena *arena;
    const char *path; /* the file at hand, for messages */
    Fault *why;
    Tokenizer t;
    File file[8];
    json_t *json[8];
    int files, jsons;
    int64_t cap;   /* of t.token */
    int32_t *slot; /* of token_find(): id + 1, or 0 */
    int64_t slots, indexed;
    int64_t added_cap;
    const char *kind; /* "BPE" .. */
} Reader;

void reader_open(Reader *r, Fault *why);
void reader_close(Reader *r);
Text text_of(const char *s);
bool text_is(Text t, const char *s);
/* A whole file; NULL: r->why. It is the one at hand from here on. */
const File *reader_file(Reader *r, const char *path);
/* The same of JSON, which is an object; of a config, whose numbers are reals.
 */
const json_t *reader_json(Reader *r, const char *path);
const json_t *reader_config(Reader *r, const char *path);

/* Says `FILE: what`; false. */
bool refuse(Reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The tokenizer lacks what is named, which is of that place in the file. */
bool refuse_unknown(Reader *r, const char *place, const char *what,
                    const char *name);

/* Are all members of an object among these (NULL ends them)? */
bool json_only(Reader *r, const json_t *object, const char *place,
               const char *const *known);
/* A member of an object as a value of its type, `usual` where there is none or
 * null; another type is refused.                                            */
bool json_flag(Reader *r, const json_t *object, const char *place,
               const char *key, bool usual, bool *to);
bool json_text(Reader *r, const json_t *object, const char *place,
               const char *key, const char *usual, Text *to);
bool json_int(Reader *r, const json_t *object, const char *place,
              const char *key, int64_t usual, int64_t *to);

/* ---- tokenizer_tokens.c ---- */
/* Ids to n - 1; the new ones are gaps. */
void tokens_room(Reader *r, int64_t n);
bool token_is_gap(const Token *t);
/* Gives a text an id, which none may have yet. `place` is of the file. */
bool token_put(Reader *r, const char *place, Text text, int64_t id,
               double score);
/* The texts of {"token": id, ..}. */
bool tokens_of_map(Reader *r, const json_t *map, const char *place);
/* The id of a text, -1: none has it. Tokens must not change their
 * texts between two calls, but more may come.                               */
int32_t token_find(Reader *r, Text text);
/* Ids to size - 1; those behind the tokens' are gaps. */
bool tokens_fit(Reader *r, int64_t size);
void tokens_move_extra(Reader *r, int64_t size);

/* ---- added_list.c ---- */

/* An added token; one that is there already stays as it is. */
bool added_put(Reader *r, const char *place, Added a);
bool added_of(Reader *r, const json_t *o, const char *place, int64_t id,
              Added *to); /* {"content": "[CLS]", "special": true, ..} */
bool added_read(Reader *r, const json_t *list); /* of tokenizer.json */

/* ---- normaliser.c, splitting.c, decoder.c, template.c ---- */
enum { StepsNormal, StepsSplit, StepsDecode };
bool step_put(Reader *r, int list, int op, int flags, Text text, Text other);
const char *type_name(const json_t *o); /* "": it has none */
/* {"String": text} or {"Regex": text} */
bool pattern_read(Reader *r, const json_t *o, const char *place, Text *text,
                  bool *regex);
typedef struct {
    Text mark;
    int scheme; /* 0 never, 1 first, 2 always */
    bool split;
} Metaspace;
bool metaspace_read(Reader *r, const json_t *o, const char *place,
                    Metaspace *to);
bool normaliser_read(Reader *r, const json_t *o, const char *place);
bool splitting_read(Reader *r, const json_t *o, const char *place);
bool decoder_read(Reader *r, const json_t *o, const char *place);
bool decoder_row(Reader *r, const json_t *o, const char *place);
bool template_read(Reader *r, const json_t *o, const char *place);
/* A row around a text, or a pair of them. */
bool template_put(Reader *r, const char *place, bool pair, int32_t id,
                  int type);

/* ---- json_model.c ---- */
/* Of tokenizer.json: tokens, scores, merges. `bytes`: of a byte level. */
bool model_read(Reader *r, const json_t *model, bool bytes);
void merges_room(Reader *r, int64_t n); /* before the first of n */
bool merge_put(Reader *r, const char *place, Text left, Text right);
bool merge_text(Reader *r, const char *place, Text line); /* "a b" */

/* Words a line; "a b" a line (class.c). */
bool words_read(Reader *r, const File *file);
bool merges_file(Reader *r, const File *file);

/* ---- tokenizer_json.c ---- */
bool tokenizer_json_is(const json_t *root);
/* Tokens from beside the file may come behind it, then decode_letters(). */
bool tokenizer_json_read(Reader *r, const json_t *root);
void decode_letters(Reader *r);

#endif
