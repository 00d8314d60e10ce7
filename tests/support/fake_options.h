/* fake_options.h: options of a search or stream of the fake model. */
#ifndef FAKE_OPTIONS_H
#define FAKE_OPTIONS_H

#include "runtime/core.h"

static struct attn_search_options options(int64_t beam)
{
    return (struct attn_search_options){
        .beam = beam,
        .results = 1,
        .max_output = 20,
        .max_output_plus = -1,
        .patience = 1.0f,
        .alpha = 1.0f,
        .start = 1,
        .end = 2,
        .want_scores = 1,
    };
}

#endif
