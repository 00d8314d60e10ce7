/* maker.h: builds tokenizers (tokenizers.c) from choices, a growing input, and
 * its tokens. */
#ifndef ATTNC_FUZZ_MAKER_H
#define ATTNC_FUZZ_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MostTokens = 80, TokenBytes = 24, MostMerges = 24 };

typedef struct {
    uint8_t *at; /* the input; n may exceed `most`, its capacity */
    size_t n, most;
    const uint8_t *choice, *end;
    char token[MostTokens][TokenBytes]; /* by id, all different */
    int tokens, merges;
    int merge[MostMerges][2]; /* ids */
} Maker;

/* Chooses a number below n, at most 256, by the next byte; 0 after the last
 * byte. */
int pick(Maker *m, int n);
#define PICK(m, list) (list)[pick(m, (int)(sizeof(list) / sizeof *(list)))]
const char *flag(Maker *m); /* "true" or "false" */

void put_bytes(Maker *m, const void *bytes, size_t n);
void put_text(Maker *m, const char *text);
void put(Maker *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void put_part(Maker *m);                     /* ends a part of the input */
void put_string(Maker *m, const char *text); /* as JSON */

int find(const Maker *m, const char *text); /* an id; -1: not a token */
int add(Maker *m, const char *text);        /* its id, perhaps a new one */
const char *any(Maker *m);                  /* the text of a token */
/* Characters unchanged; as letters for bytes; with a mark for spaces. */
typedef enum { Plain, Letters, Marked } Style;
void add_characters(Maker *m, Style style);
/* Adds tokens that each join two others; left ones do not end in the suffix. */
void add_merges(Maker *m, const char *suffix);
void add_specials(Maker *m); /* <unk>, <s>, </s>, <pad>, <mask> */

void add_byte_pieces(Maker *m); /* <0x41> etc. */

/* tokenizer_json.c: writes the tokens as {"token": id, ...}; a complete file.
 */
void put_map(Maker *m);
void put_tokenizer_json(Maker *m);

/* Changes a byte, a value, a number, the contents of brackets, or a few bytes
 * of the input after `from`. */
void bend(Maker *m, size_t from);

#endif
