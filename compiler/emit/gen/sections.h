/* sections.h: the sections of the file, in their order. model.c puts them
 * together. */
#ifndef ATTNC_EMIT_SECTIONS_H
#define ATTNC_EMIT_SECTIONS_H

#include "emit/gen/gen.h"

/* The part of the file that has threads of its own. */
#define IF_THREADS "#if defined ATTNC_MAIN || defined ATTNC_THREADS\n"

/* ---- comment.c ---- */
void emit_comment(Gen *g, Emit *e); /* the first of the file */
/* Text from outside that neither ends a comment nor begins another. */
const char *harmless(Arena *a, const char *text);

/* ---- weight_structs.c ---- */
void emit_weight_structs(Gen *g, Emit *e);
/* The structs alone; fills layers by what g->member says of blocks. */
void emit_layer_structs(Gen *g, Emit *e);
void emit_bind(Gen *g, Emit *e);
const char *layer_type(Gen *g, Stack stack, int layer);
/* The member of struct weights that is an array of a layer and those like it,
 * and its place there. */
const char *layer_array(Gen *g, Stack stack, int layer);
int layer_place(const Gen *g, Stack stack, int layer);
int layer_like(const Gen *g, Stack stack, int layer); /* the first there */

/* ---- region.c ---- */
void make_functions(Gen *g); /* fills functions and function_of */
void emit_function(Gen *g, Emit *e, const Function *f);
/* The head of a function that is never divided. */
void step_head(Gen *g, Emit *e, const Function *f, const char *tail);

/* ---- thread_split.c ---- */
void emit_split(Gen *g, Emit *e); /* runs a step's parts */
/* Heads of functions that entries call, of prototypes with a tail ";". */
void emit_run_step_head(Emit *e, const char *tail);
void emit_rows_head(Gen *g, Emit *e, Entry entry, const char *tail);
/* Emitted C: the rows of a region, or its pairs of a query and a key. */
const char *count_text_of(Gen *g, const Region *r);

/* ---- step_recurrent.c ---- */
bool has_scan(const Plan *p, Entry entry);
void emit_scan(Gen *g, Emit *e, Entry entry); /* runs a scan's parts */
void emit_scan_head(Emit *e, Entry entry, const char *tail);

/* ---- entry.c ---- */
void emit_call_structs(Gen *g, Emit *e); /* struct encode, struct decode */
void emit_entries(Gen *g, Emit *e);      /* the steps, encode(), decode() */
void emit_layouts(Gen *g, Emit *e);      /* where values lie in the arena */

/* ---- runtime_text.c ---- */
bool has_vocabulary(const Plan *p); /* of what it reads, or of what it writes */
bool has_chat(const Plan *p);       /* turns of a conversation */
/* A file of runtime/ as this model has it. */
const char *runtime_text(Gen *g, const char *name, size_t *n);

/* ---- runtime_files.c ---- */
void paste(Emit *e, const char *text, const char *end);
void paste_file(Gen *g, Emit *e, const char *name); /* of runtime/, whole */
/* The files of runtime/ that are pasted: types of a batch, of a model, of
 * one that is open, which users see; what else the sources declare; the
 * sources; the pool; a model that is open.                                  */
typedef enum {
    CoreBatch,
    CoreTypes,
    CoreOpened,
    CoreHeaders,
    CoreSources,
    CoreSeldom, /* sources that are called once, or seldom */
    CoreThreads,
    CoreOpenFile
} CorePart;
void emit_core(Gen *g, Emit *e, CorePart part); /* whole files */
/* Headers, sources and a model that is open: files that are read, then what
 * texts need of them, which is said of all before the first is pasted.      */
void core_read(Gen *g);
void core_need(Gen *g, const Emit *text);
void emit_needed(Gen *g, Emit *e, CorePart part);

/* ---- exports.c ---- */

/* The rows of runtime/exports.h, for header, core and file: those about a model
 * that is open, or the lower level.                                         */
void emit_export_prototypes(Gen *g, Emit *e, bool opened);
void emit_core_prototypes(Gen *g, Emit *e, bool opened);
void emit_exports(Gen *g, Emit *e, bool opened);
bool has_text(const Plan *p); /* vocabularies for all that it reads, writes */

/* ---- handle_text.c ---- */
bool has_handle(const Gen *g);                  /* the next two have text;
                                                   threads, the program, too */
void emit_handle_system(const Gen *g, Emit *e); /* what it includes */
void emit_handle_names(Gen *g, Emit *e); /* what those files call by others */

/* ---- example.c ---- */

/* Programs that use the model, each in the lines of a comment. */
void emit_examples(Gen *g, Emit *e);
/* static_example.c: that of a freestanding header, not yet in a comment. */
void put_static_program(Gen *g, Emit *e);
/* $n: of a program's one sequence the rows of that side, `usual` where any will
 * do. "three tokens".                                                       */
int64_t let_rows(Gen *g, Emit *e, Side side, int64_t usual);
const char *count_of(Gen *g, int64_t n, const char *noun);
/* $ids: so many tokens, of which the first are named. */
void let_ids(Gen *g, Emit *e, int64_t vocab, int64_t n);

/* ---- static_memory.c ---- */
void emit_static_sizes(Gen *g, Emit *e); /* macros of a freestanding header */
int64_t given_input(const Gen *g);       /* --max-input, or the model's */
int64_t given_output(const Gen *g);      /* --max-output, or the spec's */

/* ---- program_text.c ---- */
void emit_api(Gen *g, Emit *e); /* the model and exported functions */
void emit_embedded(Gen *g, Emit *e);
void emit_main(Gen *g, Emit *e);

/* ---- program_options.c ---- */
void emit_options(Gen *g, Emit *e); /* of the program */

#endif
