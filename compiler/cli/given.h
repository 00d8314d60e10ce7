/* given.h: a line of an input, a tab and an output that is given, as the ids
 * that a model reads: of `attnc score`, and of texts that models are compared
 * on.                                                                        */
#ifndef ATTNC_CLI_GIVEN_H
#define ATTNC_CLI_GIVEN_H

#include "cli/lines.h"

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
/* Of an engine that is open, whose spec fits; `ids`: lines are ids. */
void given_open(Given *to, const Engine *e, bool ids);
/* False where it is no such line, or longer than the model takes. */
bool given_read(Given *g, const char *text, size_t n, Fault *why);
/* The same, of a decoder also a line without a tab, an output of no input; its
 * first token, where nothing is before it, is the input.                     */
bool given_read_text(Given *g, const char *text, size_t n, Fault *why);

#endif
