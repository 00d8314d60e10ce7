/* sections.h: emits the sections of the file, in their order. model.c joins
 * them. */
#ifndef ATTNC_EMIT_SECTIONS_H
#define ATTNC_EMIT_SECTIONS_H

#include "emit/gen/gen.h"

/* surrounds the part of the file that starts threads */
#define IF_THREADS "#if defined ATTNC_MAIN || defined ATTNC_THREADS\n"

/* ---- section.c ---- */
/* Emits a line of dashes with the title. */
void section_heading(Emit *e, const char *title);
/* Surround functions that no step calls. */
void begin_cold(Emit *e);
void end_cold(Emit *e);

/* ---- comment.c ---- */
/* Emits comments on the tilings of the code, and its kernels. */
void emit_tilings(Gen *g, Emit *e);
void emit_comment(Gen *g, Emit *e); /* emits the file's first comment */
/* Returns text from the user, changed so that it can neither begin nor end a
 * comment. */
const char *harmless(Arena *a, const char *text);

/* ---- weight_structs.c ---- */
void emit_weight_structs(Gen *g, Emit *e);
/* Emits only the structs, and sets g->layers from the texts of g->member. */
void emit_layer_structs(Gen *g, Emit *e);
void emit_bind(Gen *g, Emit *e);
const char *layer_type(Gen *g, Stack stack, int layer);
/* Returns the name of the array in struct weights that holds this layer and
 * others like it. Also sets the layer's index in the array. */
const char *layer_array(Gen *g, Stack stack, int layer);
int layer_place(const Gen *g, Stack stack, int layer);
/* Returns the first layer with the same struct. */
int layer_like(const Gen *g, Stack stack, int layer);

/* ---- region.c ---- */
void make_functions(Gen *g); /* sets g->functions and g->function_of */
void emit_function(Gen *g, Emit *e, const Function *f);
/* Returns the index of a function. Functions with the same text share an
 * index. */
int function_at(Gen *g, Function f, const Emit *body);
/* Emits the head of a function that is not divided into parts, then `tail`. */
void step_head(Gen *g, Emit *e, const Function *f, const char *tail);

/* ---- thread_split.c ---- */
void emit_step_structs(Gen *g,
                       Emit *e);  /* emits struct step and struct steps */
void emit_split(Gen *g, Emit *e); /* emits code that runs the parts of a step */
/* Emits the heads of the functions that entries call; with `tail` ";", as
 * prototypes. */
void emit_run_step_head(Emit *e, const char *tail);
void emit_rows_head(Gen *g, Emit *e, Entry entry, const char *tail);
void need_next_block(Gen *g);  /* rows of a region's next block */
bool is_divided(const Gen *g); /* true if the file can divide calls */
/* Returns C for the number of a region's rows or, for attention, of its
 * query-key pairs. */
const char *count_text_of(Gen *g, const Region *r);

/* ---- step_recurrent.c ---- */
bool has_scan(const Plan *p, Entry entry);
void emit_scan(Gen *g, Emit *e, Entry entry); /* emits code that runs a scan */
void emit_scan_head(Emit *e, Entry entry, const char *tail);

/* ---- entry.c ---- */
void emit_call_structs(Gen *g, Emit *e); /* emits structs encode and decode */
void emit_entries(Gen *g, Emit *e); /* emits steps, encode() and decode() */
void emit_layouts(Gen *g, Emit *e); /* emits the addresses of values in the
                                     * arena */
/* Returns the node that writes or reads a cache of kind `of` in the same step,
 * or NULL. */
const Node *kept_by(const Plan *p, const Node *n, int of);

/* ---- part_roots.c ---- */
typedef struct {
    const char *name, *brings; /* e.g. "text", and a line that describes the
                                * part */
} PartText;
PartText part_text(FilePart part);
bool is_left_out(const EmitOptions *o, FilePart part);
bool is_root(FilePart part, const char *name); /* true if the part has this
                                                  function */
/* False if only omitted parts have the function as a root. */
bool has_root(const EmitOptions *o, const char *name);

/* ---- parts.c ---- */
bool has_part(const Gen *g, FilePart part);
bool has_main(const Gen *g);   /* true if the output contains the program */
bool has_handle(const Gen *g); /* true if the output contains handles */
bool has_pool(const Gen *g);   /* true if the program or a handle can start
                                * threads */
bool generates(const Gen *g);  /* true if the output contains search options */
/* Emits a comment that lists the parts that the file lacks. */
void emit_left_out(Gen *g, Emit *e);

/* ---- runtime_text.c ---- */
/* True if the emitted file contains code for a source or target vocabulary. */
bool has_vocabulary(const Gen *g);
bool has_embed(const Gen *g); /* true if it has rows for texts */
bool has_chat(const Gen *g);  /* true if it has code for conversations */
/* True if the program changes texts: queries and documents of late interaction,
 * or pairs that become one text. */
bool has_tasks(const Gen *g);
/* Returns the text of a file of runtime/, adapted to this model. */
const char *runtime_text(Gen *g, const char *name, size_t *n);

/* ---- runtime_files.c ---- */
void paste(Emit *e, const char *text, const char *end);
void paste_file(Gen *g, Emit *e, const char *name); /* appends the complete
                                                     * file */
/* Groups of files of runtime/ in the output: public types (a batch, a model, an
 * open model), internal headers, sources, cold sources, the thread pool's
 * header and sources, the open model. */
typedef enum {
    CoreBatch,
    CoreTypes,
    CoreOpened,
    CoreHeaders,
    CoreSources,
    CoreCold, /* sources that are called rarely */
    CorePool,
    CoreThreads,
    CoreOpenFile
} CorePart;
void emit_core(Gen *g, Emit *e, CorePart part); /* appends all files of the
                                                 * group, completely */
/* Emits all files of the group without their comments. */
void emit_types(Gen *g, Emit *e, CorePart part);
/* Select functions from headers, sources and the open model with the tree
 * shaker. core_read() reads the files, core_need() marks the functions that a
 * text uses. All texts must be marked before the first emit_needed(). */
void core_read(Gen *g);
void emit_all_of(Gen *g, Emit *e, CorePart part); /* appends the files that the
                                                   * shaker reads, completely */
void core_need(Gen *g, const Emit *text);
void emit_needed(Gen *g, Emit *e, CorePart part);

/* ---- code.c ---- */
void append_text(Emit *e, const Emit *part);
/* Emits the heading of a section, except in code for libtcc. */
void part_heading(Gen *g, Emit *e, const char *title);
/* Emits public types. The header of a complete file has their comments. */
void emit_public(Gen *g, Emit *e, CorePart part);
/* Emits the code of the model. Generates its entries first, because they
 * determine which kernels, shapes and functions the file needs; in the file,
 * the structs of weights come first. */
void emit_code(Gen *g, Emit *e);

/* ---- levels.c ---- */
/* Makes the code of each level, if the file has several. */
void levels_of(Gen *g);
void emit_levels(Gen *g, Emit *e); /* emits that code */
/* Emits the table of the levels, and the functions that choose one. */
void emit_choice(Gen *g, Emit *e);

/* ---- exports.c ---- */

/* Emit the functions of runtime/exports.h for the header and the file. If
 * `opened` is set, emit those that take an open model, otherwise those of the
 * lower level. */
void emit_export_prototypes(Gen *g, Emit *e, bool opened);
void emit_exports(Gen *g, Emit *e, bool opened);
/* Emits prototypes of all functions of the core that models export. */
void emit_all_prototypes(Gen *g, Emit *e);
bool has_text(const Gen *g); /* true if inputs and outputs have vocabularies */
bool has_export_of(const Plan *p, const EmitOptions *o, FilePart part);

/* ---- handle_text.c ---- */
void emit_handle_system(const Gen *g, Emit *e); /* emits the system headers that
                                                 * handles need */
void emit_handle_names(Gen *g, Emit *e);        /* emits macros for names that
                                                 * handles use */

/* ---- runtime_beside.c ---- */
/* Emits the #include of attn.h, and the check that it is of this attnc. */
void include_runtime(Gen *g, Emit *e);

/* ---- example.c ---- */

/* Emits example programs as lines of a comment. */
void emit_examples(Gen *g, Emit *e);
/* static_example.c: emits the example program for a freestanding header. The
 * caller turns it into a comment. */
void put_static_program(Gen *g, Emit *e);
/* Binds and returns $n, the number of rows on this side of the example's only
 * sequence: a constant, or `default_rows` if the number is not fixed.
 * count_of() returns e.g. "three tokens". */
int64_t let_rows(Gen *g, Emit *e, Side side, int64_t default_rows);
const char *count_of(Gen *g, int64_t n, const char *noun);
/* Binds $ids to the first n token ids (at most 3), and $all to the size of the
 * array if n is larger. */
void let_ids(Gen *g, Emit *e, int64_t vocab, int64_t n);

/* ---- static_memory.c ---- */
void emit_static_sizes(Gen *g, Emit *e); /* emits the size macros of a
                                          * freestanding header */
int64_t given_input(const Gen *g);       /* --max-input, or the model's limit */
int64_t given_output(const Gen *g);      /* --max-output, or the spec's */

/* ---- program_text.c ---- */
void emit_api(Gen *g, Emit *e); /* emits the model and the exported functions */
void emit_embedded(Gen *g, Emit *e);
void emit_main(Gen *g, Emit *e);

/* ---- spec_texts.c ---- */
void put_texts(Gen *g, Emit *e);      /* emits what rows' texts need */
void put_chat_texts(Gen *g, Emit *e); /* emits what answered texts need */

/* ---- program_options.c ---- */
void emit_options(Gen *g, Emit *e); /* emits the program's table of options */

#endif
