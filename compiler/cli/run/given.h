/* given.h: a line of an input, a tab and an output that is given, as the ids
 * that a model reads: of `attnc score`, and of texts that models are compared
 * on.                                                                        */
#ifndef ATTNC_CLI_GIVEN_H
#define ATTNC_CLI_GIVEN_H

#include "cli/options/lines.h"

typedef struct {
    const Engine *e;
    Tokens source, target;
    int32_t *source_ids, *target_ids; /* of the line that was read last: */
    int64_t source_n;                 /* a decoder's prompt */
    int64_t target_n;                 /* the end counted, not what is forced */
} Given;

/* ExitInput and a message where the model gives no probabilities, or has no
 * vocabulary and lines are no ids.                                          */
int given_fits(const Spec *s, bool ids);
/* Prepares to read lines, of ids or of text, for the model of an open engine
 * that given_fits() accepts. */
void given_open(Given *to, const Engine *e, bool ids);
/* Reads a line: an input, a tab and an answer. Returns false, with a message in
 * *why, if the line has another form or is longer than the model takes. */
bool given_read(Given *g, const char *text, size_t n, Fault *why);
/* Does what given_read() does. For a decoder it also takes a line without a
 * tab, as an answer to an empty input; if no start token stands before it, its
 * first token becomes the input. */
bool given_read_text(Given *g, const char *text, size_t n, Fault *why);

#endif
