/* attention_run.h: attention weights of one line or one input, for attnc run
 * --attention and for the library (run_attention.c). */
#ifndef ATTNC_CLI_ATTENTION_RUN_H
#define ATTNC_CLI_ATTENTION_RUN_H

#include "cli/run/answering.h"

#include "draw/draw.h"
#include "oracle/trial.h"

typedef struct {
    const Options *o;
    bool json; /* numbers are wanted, not a picture */
    FILE *to;  /* stream for the answer */
    struct answering w;
    Trial trial;
    SampleFile in; /* tensors of --input */
    const char **label[2];
    VEC(AttentionMap) maps;
    VEC(int)
    softmax;    /* [maps]: node of the unfused graph with the weights */
    Index kept; /* names of values that can be read back */
} AttentionRun;

/* Rejects options that do not apply to the attention of a single answer.
 * Returns an exit code, as the functions below. */
int attention_check_options(const Options *o);
/* Returns the options of an engine whose attention weights can be read. */
EngineOptions attention_engine(EngineOptions options);
/* Reads the line or the input, answers it, and makes the labels of its tokens.
 * The engine is open. */
int attention_read(AttentionRun *r);
/* Computes the maps of the layer in the options. */
int attention_compute(AttentionRun *r);
AttentionPicture attention_picture(const AttentionRun *r);
/* Frees what attention_read() and attention_compute() allocated outside of the
 * engine's arena. */
void attention_end(AttentionRun *r);

#endif
