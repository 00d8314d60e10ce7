/* compile.h: the files that attnc compile writes, and the report on them. */
#ifndef ATTNC_COMPILE_H
#define ATTNC_COMPILE_H

#include "cli/options/options.h"
#include "emit/emit.h"

typedef struct { /* paths of the files that were written; other kinds: NULL */
    const Options *o;
    const Engine *e;
    const char *path[EmitKinds];
    const char *header, *weights;
    const char *program; /* name of the program built from the C file */
    bool inside;         /* true if these files contain the weights */
    bool has_main;       /* true if the C file contains a program */
} Written;

/* Returns the name of the C compiler to use; NULL: the default. A program of
 * several ranks is compiled by MPI's. */
const char *compiler_asked(const Options *o, const Spec *s, bool program);
/* Prints paths and sizes on stderr, and the commands to build and run a
 * program. */
void report_written(const Written *w);

/* ---- compile_levels.c ---- */
typedef struct { /* the targets of --march, if that is a list */
    TargetList list;
    const Plan *plan[MostTargets]; /* of all but the last */
} TargetPlans;
bool levels_read(TargetPlans *l, const Options *o, Fault *why);
const char *level_last(const TargetPlans *l); /* it needs the fewest features */
/* Returns the targets with commas between them; of an empty list, `t`. */
const char *levels_text(Arena *a, const TargetPlans *l, const Target *t);
/* After engine_plan() for the last level, plans the others. From then on the
 * engine's target is the oldest x86-64, for which compilers make the code that
 * runs before a level is chosen. Returns an exit code. */
int levels_plan(TargetPlans *l, Engine *e);

/* ---- compile_parts.c ---- */
unsigned parts_left_out(const Options *o); /* returns bits by FilePart */
/* Returns --parts as a list: "model", or "text,main". */
const char *parts_given(Arena *a, const Options *o);
/* Returns true if the model has the requested parts; otherwise prints an
 * error. */
bool parts_fit(const Engine *e, const Options *o, const EmitOptions *emit);

/* ---- compile_plain.c ---- */
/* Rejects options that cannot be combined with --plain. */
void look_at_plain(const Options *o);
/* Checks that the model can be written as plain C, which supports neither
 * constant lengths, nor suppressed sequences of more than one id, nor other
 * rules of the search. */
bool plain_fits(const Options *o, const Plan *p);

/* ---- compile_grammar.c ---- */
/* Reads --grammar, if it is given, to the options of the emitter. Returns an
 * exit code, after a message if it is not 0. */
int grammar_inside(const Engine *e, const Options *o, EmitOptions *emit);

/* ---- compile_runtime.c ---- */
/* Ends with a message if --runtime=beside can't be combined with other
 * options. */
void look_at_runtime(const Options *o);
/* Returns the path of attn.c or attn.h in the folder of `path`. */
const char *runtime_path(Arena *a, const char *path, bool header);
/* With --runtime=beside, check that attn.c and attn.h may be written beside the
 * model's C file `path` and its header, and write them. */
bool runtime_guard(const Options *o, Arena *a, const char *path,
                   const char *model_header, Fault *why);
bool runtime_write(const Options *o, const Engine *e, const char *path,
                   Fault *why);

/* ---- compile_wheel.c ---- */
/* Ends with a message if --emit=wheel can't be combined with other options. */
void look_at_wheel(const Options *o);
/* Writes the wheel of a model. compile: compile_model(). Returns an exit
 * code. */
typedef int CompileModel(const Options *o, bool reports);
int compile_wheel(const Options *o, bool reports, CompileModel *compile);

#endif
