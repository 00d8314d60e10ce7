/* sections.h: the sections of the file, in their order. model.c joins them. */
#ifndef ATTNC_EMIT_SECTIONS_H
#define ATTNC_EMIT_SECTIONS_H

#include "emit/gen/gen.h"

/* Guards the part of the file that starts threads. */
#define IF_THREADS "#if defined ATTNC_MAIN || defined ATTNC_THREADS\n"

/* ---- comment.c ---- */
void emit_comment(Gen *g, Emit *e); /* the file's first comment */
/* Returns text of the user, changed so that it cannot end or begin a
 * comment. */
const char *harmless(Arena *a, const char *text);

/* ---- weight_structs.c ---- */
void emit_weight_structs(Gen *g, Emit *e);
/* Emits only the structs; fills g->layers from the text of g->member. */
void emit_layer_structs(Gen *g, Emit *e);
void emit_bind(Gen *g, Emit *e);
const char *layer_type(Gen *g, Stack stack, int layer);
/* Returns the array in struct weights that holds a layer and those like it, and
 * the layer's index there. */
const char *layer_array(Gen *g, Stack stack, int layer);
int layer_place(const Gen *g, Stack stack, int layer);
int layer_like(const Gen *g, Stack stack, int layer); /* first layer like it */

/* ---- region.c ---- */
void make_functions(Gen *g); /* fills g->functions, g->function_of */
void emit_function(Gen *g, Emit *e, const Function *f);
/* Emits the head of a function that is never divided, then `tail`. */
void step_head(Gen *g, Emit *e, const Function *f, const char *tail);

/* ---- thread_split.c ---- */
void emit_split(Gen *g, Emit *e); /* code that runs a step's parts */
/* Emit heads of functions that entries call; the tail ";" makes a prototype. */
void emit_run_step_head(Emit *e, const char *tail);
void emit_rows_head(Gen *g, Emit *e, Entry entry, const char *tail);
/* Returns C that counts a region's rows, or its pairs of a query and a key. */
const char *count_text_of(Gen *g, const Region *r);

/* ---- step_recurrent.c ---- */
bool has_scan(const Plan *p, Entry entry);
void emit_scan(Gen *g, Emit *e, Entry entry); /* code that runs a scan */
void emit_scan_head(Emit *e, Entry entry, const char *tail);

/* ---- entry.c ---- */
void emit_call_structs(Gen *g, Emit *e); /* struct encode, struct decode */
void emit_entries(Gen *g, Emit *e);      /* the steps, encode(), decode() */
void emit_layouts(Gen *g, Emit *e);      /* addresses in the arena */

/* ---- part_roots.c ---- */
typedef struct {
    const char *name, *brings; /* "text", a line */
} PartText;
PartText part_text(FilePart part);
bool is_left_out(const EmitOptions *o, FilePart part);
bool is_root(FilePart part, const char *name); /* one of its functions */
/* True unless the function is a root of parts that are all left out. */
bool has_root(const EmitOptions *o, const char *name);

/* ---- parts.c ---- */
bool has_part(const Gen *g, FilePart part);
bool has_main(const Gen *g);   /* the output has the program */
bool has_handle(const Gen *g); /* the output has handles */
bool has_pool(const Gen *g);   /* either of them can start threads */
bool generates(const Gen *g);  /* the output has options of a search */
/* Emits a comment with the parts that the file is without. */
void emit_left_out(Gen *g, Emit *e);

/* ---- runtime_text.c ---- */
bool has_vocabulary(const Gen *g); /* has code for that of input or output */
bool has_chat(const Gen *g);       /* the model is a chat model */
/* Returns a file of runtime/ as adapted to this model. */
const char *runtime_text(Gen *g, const char *name, size_t *n);

/* ---- runtime_files.c ---- */
void paste(Emit *e, const char *text, const char *end);
void paste_file(Gen *g, Emit *e, const char *name); /* the complete file */
/* Groups of runtime/ files in the output: public types (a batch, a model, an
 * open model), internal headers, sources, cold sources, the thread pool, the
 * open model. */
typedef enum {
    CoreBatch,
    CoreTypes,
    CoreOpened,
    CoreHeaders,
    CoreSources,
    CoreCold, /* sources that are called once or rarely */
    CoreThreads,
    CoreOpenFile
} CorePart;
void emit_core(Gen *g, Emit *e, CorePart part); /* complete files */
/* The tree shaker of headers, sources and the open model: core_read() reads
 * their files, core_need() marks what a text uses. All texts are marked before
 * the first emit_needed(). */
void core_read(Gen *g);
void core_need(Gen *g, const Emit *text);
void emit_needed(Gen *g, Emit *e, CorePart part);

/* ---- exports.c ---- */

/* Emit the functions of runtime/exports.h for the header, the core and the
 * file. `opened` selects those of an open model, else the lower level. */
void emit_export_prototypes(Gen *g, Emit *e, bool opened);
void emit_core_prototypes(Gen *g, Emit *e, bool opened);
void emit_exports(Gen *g, Emit *e, bool opened);
bool has_text(const Gen *g); /* for all inputs and outputs */
bool has_export_of(const Plan *p, const EmitOptions *o, FilePart part);

/* ---- handle_text.c ---- */
void emit_handle_system(const Gen *g, Emit *e); /* its system headers */
void emit_handle_names(Gen *g, Emit *e);        /* macros for their names */

/* ---- example.c ---- */

/* Emits programs that use the model, each as lines of a comment. */
void emit_examples(Gen *g, Emit *e);
/* static_example.c: the program of a freestanding header, not yet in a
 * comment. */
void put_static_program(Gen *g, Emit *e);
/* Binds and returns $n, the rows of that side in an example's only sequence:
 * `default_rows` unless fixed. count_of() returns "three tokens". */
int64_t let_rows(Gen *g, Emit *e, Side side, int64_t default_rows);
const char *count_of(Gen *g, int64_t n, const char *noun);
/* Binds $ids, the first of n token ids (at most 3), and $all, the array's size
 * if n is more. */
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
void emit_options(Gen *g, Emit *e); /* options of the program */

#endif
