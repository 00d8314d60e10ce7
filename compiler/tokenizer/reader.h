/* reader.h: shared functions of the tokenizer readers. */
#ifndef ATTNC_TOKENIZER_READER_H
#define ATTNC_TOKENIZER_READER_H

#include <string.h>

#include "base/base.h"
#include "runtime/base/json.h"
#include "tokenizer/block.h"

enum {
    TokenizerLimit = 256 << 20, /* maximum bytes of a file */
    MostIds = 1 << 22           /* maximum tokens of a vocabulary */
};

/* A tokenizer that is being read from its files. Its texts are in the arena, or
 * in files and JSON that stay open until reader_close(). */
typedef struct {
    Arena *arena;
    const char *path; /* path of the current file, for messages */
    Fault *why;
    Tokenizer t;
    File file[8];
    VEC(json_t *) json;
    int files;
    int64_t cap;   /* capacity of t.token */
    int32_t *slot; /* hash table of token_find(): id + 1, or 0 */
    int64_t slots, indexed;
    int64_t added_cap;
    const char *kind; /* name of the model, e.g. "BPE" */
} Reader;

void reader_open(Reader *r, Fault *why);
void reader_close(Reader *r);
Text text_of(const char *s);
bool text_is(Text t, const char *s);
/* Reads a file, which becomes the current one. Returns NULL with r->why on
 * failure. */
const File *reader_file(Reader *r, const char *path);
/* Both read a JSON object; reader_config() reads all numbers as reals. */
const json_t *reader_json(Reader *r, const char *path);
const json_t *reader_config(Reader *r, const char *path);

/* Sets r->why to `FILE: text` and returns false. */
bool refuse(Reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Rejects a type or option that attnc does not support. */
bool refuse_unknown(Reader *r, const char *place, const char *what,
                    const char *name);

/* Checks that all keys of an object are in `known`, which ends in NULL. */
bool json_only(Reader *r, const json_t *object, const char *place,
               const char *const *known);
/* Each sets *to to a member of an object, or to `default_value` if the member
 * is absent or null. Returns false if the member has another type. */
bool json_flag(Reader *r, const json_t *object, const char *place,
               const char *key, bool default_value, bool *to);
bool json_text(Reader *r, const json_t *object, const char *place,
               const char *key, const char *default_value, Text *to);
bool json_int(Reader *r, const json_t *object, const char *place,
              const char *key, int64_t default_value, int64_t *to);

/* ---- tokenizer_tokens.c ---- */
/* Grows the list of tokens to n ids. The new ids are gaps. */
void tokens_room(Reader *r, int64_t n);
/* Assigns an id, which must be free, to a text. `place` is the position in the
 * file, for messages. */
bool token_put(Reader *r, const char *place, Text text, int64_t id,
               double score);
/* Adds all tokens of a map {"token": id}. */
bool tokens_of_map(Reader *r, const json_t *map, const char *place);
/* Returns the id of a text, or -1 if no token has it. Between calls, tokens may
 * be added but not changed. */
int32_t token_find(Reader *r, Text text);
/* Fills the ids up to size - 1 with gaps. Returns false if there are more
 * tokens. */
bool tokens_fit(Reader *r, int64_t size);
void tokens_move_extra(Reader *r, int64_t size);

/* ---- added_list.c ---- */

/* Adds a token to the list of added tokens, unless it is already there. */
bool added_put(Reader *r, const char *place, Added a);
bool added_of(Reader *r, const json_t *o, const char *place, int64_t id,
              Added *to); /* o: e.g. {"content": "[CLS]", "special": true} */
bool added_read(Reader *r, const json_t *list); /* list: "added_tokens" of a
                                                   tokenizer.json */

/* ---- normaliser.c, splitting.c, decoder.c, template.c ---- */
enum { StepsNormal, StepsSplit, StepsDecode };
bool step_put(Reader *r, int list, int op, int flags, Text text, Text other);
const char *type_name(const json_t *o); /* value of "type", or "" */
/* Reads {"String": text} or {"Regex": text}. */
bool pattern_read(Reader *r, const json_t *o, const char *place, Text *text,
                  bool *regex);
typedef struct {
    Text mark;
    int scheme; /* adds a space: 0 never, 1 at the first piece, 2 always */
    bool split;
} Metaspace;
bool metaspace_read(Reader *r, const json_t *o, const char *place,
                    Metaspace *to);
bool normaliser_read(Reader *r, const json_t *o, const char *place);
bool splitting_read(Reader *r, const json_t *o, const char *place);
bool decoder_read(Reader *r, const json_t *o, const char *place);
bool decoder_row(Reader *r, const json_t *o, const char *place);
bool template_read(Reader *r, const json_t *o, const char *place);
/* Appends a token to the template for one text, or for a pair of texts. */
bool template_put(Reader *r, const char *place, bool pair, int32_t id,
                  int type);

/* ---- json_model.c ---- */
/* Reads "model": tokens, scores, merges. `bytes` is true if the model works on
 * bytes. */
bool model_read(Reader *r, const json_t *model, bool bytes);
void merges_room(Reader *r, int64_t n); /* called before the first merge */
bool merge_text(Reader *r, const char *place, Text line); /* line: "a b" */

/* Reads a file with one merge "a b" per line (class.c). */
bool merges_file(Reader *r, const File *file);

/* ---- tokenizer_json.c ---- */
bool tokenizer_json_is(const json_t *root);
/* Reads a complete tokenizer.json. Tokens may be added afterwards, until
 * decode_letters() is called. */
bool tokenizer_json_read(Reader *r, const json_t *root);
void decode_letters(Reader *r);

#endif
