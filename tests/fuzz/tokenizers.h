/* tokenizers.h: makes inputs of the target `vocab` (vocab.c): the files of a
 * valid tokenizer of any kind, and a text.                                  */
#ifndef ATTNC_FUZZ_TOKENIZERS_H
#define ATTNC_FUZZ_TOKENIZERS_H

#include <stddef.h>
#include <stdint.h>

/* The first byte of an input, modulo Kinds, selects the kind of its file. */
enum { Lines, Json, Block, Folder, Kinds, Specials = 6 };

/* Writes an input of at most `most` bytes. Each of the n bytes is a choice;
 * after the last one, the first option is always chosen. So the same bytes make
 * the same input, and fewer bytes a smaller one. Some choices damage the
 * otherwise valid files. Returns the size; 0: `most` is too small. */
size_t tokenizer_make(uint8_t *to, size_t most, const uint8_t *choices,
                      size_t n);

#endif
