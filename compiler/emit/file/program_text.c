/* program_text.c: emits the code around the model: its struct, the exported
 * functions, and the program under ATTNC_MAIN. */
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"

#include <string.h>

/* ---- the model ---- */

/* Returns the model's members for constant lengths, one per line. */
static const char *fixed_members(Gen *g)
{
    const struct attn_model m = plan_counted(g->p);
    const struct {
        const char *name;
        int64_t value;
    } member[] = { { "source", m.fixed_source },
                   { "target", m.fixed_target },
                   { "keys", m.fixed_keys },
                   { "batch", m.fixed_batch },
                   { "ranks", m.fixed_ranks } };
    Buffer text = { .arena = g->a };
    for (size_t i = 0; i < sizeof member / sizeof *member; i++)
        if (member[i].value)
            buffer_printf(&text, "    .fixed_%s = %lld,\n", member[i].name,
                          (long long)member[i].value);
    return text.n ? text.at : "";
}

static void let_model(Gen *g, Emit *e)
{
    const Plan *p = g->p;
    const Spec *s = p->g->spec;
    let(e, "name", "%s", c_string(g->a, s->name, strlen(s->name)));
    let(e, "kind", "%d", s->kind);
    let(e, "d_model", "%lld", (long long)s->d_model);
    let(e, "source_vocab", "%lld", (long long)s->source.size);
    let(e, "target_vocab", "%lld", (long long)s->target.size);
    let(e, "max_source", "%lld", (long long)s->side[SideEncoder].max_len);
    let(e, "max_target", "%lld", (long long)s->side[SideDecoder].max_len);
    let(e, "input_width", "%lld", (long long)s->input_width);
    if (s->kind == KindAttention)
        let(e, "input_width", "%lld", (long long)s->d_model);
    let(e, "class_token", "%d", spec_input_learned(s));
    const Type out = p->g->nodes.at[graph_result(p->g)].type;
    let(e, "types", "%lld", (long long)s->embed_types);
    let(e, "fixed", "%s", fixed_members(g));
    let(e, "output_columns", "%lld", (long long)out.dim[1].c);
    let(e, "output_pooled", "%d", out.dim[0].sym == SymS);
    let(e, "weights_bytes", "%lld", (long long)p->pack.bytes);
    let(e, "dtype", "%s", p->pack.dtype);
    let(e, "model", "%s_model", p->prefix);
    let(e, "options", "%s_options", p->prefix);
    let(e, "hash", "0x%016llxull", (unsigned long long)p->pack.hash);
    let(e, "caches", "%d", p->g->caches);
    let(e, "spec_hash", "0x%016llxull", (unsigned long long)s->hash);
    const char *command = g->o->command ? g->o->command : "attnc compile";
    let(e, "command", "%s", c_string(g->a, command, strlen(command)));
    let(e, "text", g->o->mode == EmitAot ? " + ATTN_PACKED_TEXT" : "");
    let(e, "encode", has_entry(p, EntryEncode) ? "encode" : "0");
    let(e, "decode", has_entry(p, EntryDecode) ? "decode" : "0");
    let(e, "log_sum_exp", generates(g) ? "sum_of_logits" : "0");
    let(e, "weights", "%s", g->o->nlevels ? "struct bound" : "struct weights");
    let(e, "embedded", "%s_embedded", p->prefix);
}

/* Emits the layout of a cache, omitting members that are 0. */
static void put_cache(Gen *g, Emit *e, const struct attn_cache_layout *c)
{
    const struct {
        const char *name;
        int64_t value;
    } member[] = { { "page_bytes", c->page_bytes },
                   { "blocks", c->blocks },
                   { "d_k", c->d_k },
                   { "v_panels", c->v_panels },
                   { "window", c->window },
                   { "states", c->states } };
    Buffer text = { .arena = g->a };
    for (int i = 0; i < 6; i++)
        if (member[i].value)
            buffer_printf(&text, ",%s.%s = %lld", i == 2 ? "\n  " : " ",
                          member[i].name, (long long)member[i].value);
    let(e, "of", c->of == ATTN_SELF ? "ATTN_SELF" : "ATTN_CROSS");
    if (c->format != ATTN_CACHE_F32)
        buffer_printf(&text, ", .format = ATTN_CACHE_%s",
                      c->format == ATTN_CACHE_INT8 ? "INT8" : "BF16");
    let(e, "members", "%s", text.n ? text.at : "");
    put(e, "{ .of = $of$members },\n");
}

/* Emits what the code of one target needs no bound weights for. */
static void put_target(Gen *g, Emit *e)
{
    let(e, "target", "%s", g->p->target.name);
    put(e, "static const char *target_of(const void *bound)\n"
           "{\n"
           "    (void)bound;\n"
           "    return \"$target\";\n"
           "}\n\n");
    if (generates(g))
        put(e, "static float sum_of_logits(const void *bound, const float *x,\n"
               "                           int64_t n)\n"
               "{\n"
               "    (void)bound;\n"
               "    return log_sum_exp(x, n);\n"
               "}\n\n");
}

/* Emits the model's functions, as members of its struct. */
static void put_members(Gen *g, Emit *e)
{
    put(e, ".arena_bytes = arena_bytes,\n"
           ".bind = bind_weights,\n"
           ".encode = $encode,\n"
           ".decode = $decode,\n"
           ".log_sum_exp = $log_sum_exp,\n"
           ".target = target_of,\n");
    if (g->o->mode == EmitAot)
        put(e, ".embedded = $embedded,\n");
    if (g->o->mode == EmitAot && generates(g))
        put(e, ".options = $options,\n");
    if (any_amx(g) && !g->o->freestanding)
        put(e, ".amx_allowed = amx_allowed,\n");
}

static void emit_model_struct(Gen *g, Emit *e)
{
    const bool rows = g->o->mode == EmitAot && has_embed(g);
    const bool talks = (has_main(g) || has_handle(g)) && has_chat(g);
    if (rows)
        put_texts(g, e);
    if (talks)
        put_chat_texts(g, e);
    let_model(g, e);
    if (g->o->nlevels)
        emit_choice(g, e);
    else
        put_target(g, e);
    put(e, "static const struct attn_model model = {\n"
           "    .name = $name,\n"
           "    .kind = $kind,\n"
           "    .d_model = $d_model,\n"
           "    .source_vocab = $source_vocab,\n"
           "    .target_vocab = $target_vocab,\n"
           "    .max_source = $max_source,\n"
           "    .max_target = $max_target,\n"
           "    .input_width = $input_width,\n"
           "    .class_token = $class_token,\n"
           "    .types = $types,\n"
           "$fixed"
           "    .output_columns = $output_columns,\n"
           "    .output_pooled = $output_pooled,\n"
           "    .weights_bytes = $weights_bytes,\n"
           "    .dtype = \"$dtype\",\n"
           "    .weights_hash = $hash,\n"
           "    .spec_hash = $spec_hash,\n"
           "    .command =\n"
           "        $command,\n"
           "    .bound_bytes = sizeof($weights)$text,\n"
           "    .caches = $caches,\n"
           "    .cache = {\n");
    for (int c = 0; c < g->p->g->caches; c++)
        put_cache(g, e, &g->p->cache[c]);
    put(e, "},\n");
    put_members(g, e);
    if (rows || talks)
        put(e, ".texts = &texts_of_spec,\n");
    put(e, "};\n\n"
           "const struct attn_model *$model(void)\n"
           "{\n"
           "    return &model;\n"
           "}\n\n");
}

typedef struct { /* a list of ids, and the matching members of the search
                  * options */
    const char *name, *member, *count;
    const int32_t *at;
    int64_t n;
} IdList;

/* Emits a list of ids, on one line if it fits. */
static void put_program_ids(Gen *g, Emit *e, const IdList *list)
{
    const char *line = "";
    int lines = 0;
    let(e, "name", "%s", list->name);
    for (int64_t i = 0; i < list->n; i++) {
        const bool last = i + 1 == list->n;
        line = arena_printf(g->a, "%s%s%d%s", line, *line ? " " : "",
                            list->at[i], last ? "" : ",");
        if (!last && strlen(line) < 40)
            continue;
        let(e, "ids", "%s", line);
        if (last && lines == 0) {
            put(e, "static const int32_t $name[] = { $ids };\n");
            return;
        }
        if (lines++ == 0)
            put(e, "static const int32_t $name[] = {\n");
        put(e, "$ids\n");
        line = "";
    }
    put(e, "};\n");
}

static void put_id_members(Emit *e, const IdList *list)
{
    let(e, "name", "%s", list->name);
    let(e, "member", "%s", list->member);
    let(e, "size", "%s", list->count);
    let(e, "n", "%lld", (long long)list->n);
    put(e, "o->$member = $name;\n"
           "o->$size = $n;\n");
}

/* Sets those numbers of the logits processors that are not off. */
static void put_process_numbers(Emit *e, Arena *a, const struct attn_process *p)
{
    const struct {
        const char *member;
        int64_t n;
    } all[] = { { "min_length", p->min_length },
                { "min_total", p->min_total },
                { "no_repeat_ngram", p->no_repeat_ngram },
                { "log_probabilities", p->log_probabilities } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        let(e, "member", "%s", all[i].member);
        let(e, "n", "%lld", (long long)all[i].n);
        if (all[i].n)
            put(e, "o->process.$member = $n;\n");
    }
    let(e, "penalty", "%s", c_float(a, (double)p->repetition_penalty));
    if (attn_penalises(p))
        put(e, "o->process.repetition_penalty = $penalty;\n");
}

static void let_numbers(Gen *g, Emit *e, const struct attn_search_options *o)
{
    let(e, "options", "%s_options", g->p->prefix);
    let(e, "beam", "%lld", (long long)o->beam);
    let(e, "rule", "%lld", (long long)o->rule);
    let(e, "penalty", "%lld", (long long)o->penalty);
    let(e, "alpha", "%s", c_float(g->a, (double)o->alpha));
    let(e, "max", "%lld", (long long)given_output(g));
    let(e, "plus", "%lld", (long long)o->max_output_plus);
    let(e, "start", "%d", o->start);
    let(e, "end", "%d", o->end);
}

static void emit_defaults(Gen *g, Emit *e)
{
    int32_t ids[2];
    int64_t all = 0; /* total number of ids */
    const struct attn_search_options o = spec_search(g->p->g->spec, ids);
    const struct attn_process *p = &o.process;
    const IdList lists[] = {
        { "unwritten", "process.forbid", "process.forbid_count", p->forbid,
          p->forbid_count },
        { "ends", "ends", "ends_count", o.ends, o.ends_count },
        { "prefix", "prefix", "prefix_n", o.prefix, o.prefix_n },
        { "suppress", "process.suppress", "process.suppress_size", p->suppress,
          p->suppress_size },
        { "suppress_first", "process.suppress_first",
          "process.suppress_first_count", p->suppress_first,
          p->suppress_first_count },
    };
    enum { IdLists = sizeof lists / sizeof *lists };
    let_numbers(g, e, &o);
    put(e, "/* The search that the spec asks for. */\n"
           "void $options(struct attn_search_options *o)\n"
           "{\n");
    for (int i = 0; i < IdLists; i++) {
        all += lists[i].n;
        if (lists[i].n > 0)
            put_program_ids(g, e, &lists[i]);
    }
    put(e, all > 0 ? "\nif (!o)\n" : "if (!o)\n");
    put(e, "    return;\n"
           "memset(o, 0, sizeof *o);\n"
           "o->beam = $beam;\n"
           "o->results = 1;\n"
           "o->rule = $rule;\n"
           "o->penalty = $penalty;\n"
           "o->alpha = $alpha;\n"
           "o->max_output = $max;\n"
           "o->max_output_plus = $plus;\n"
           "o->patience = 1.0f;\n"
           "o->start = $start;\n"
           "o->end = $end;\n");
    put_process_numbers(e, g->a, p);
    for (int i = 0; i < IdLists; i++)
        if (lists[i].n > 0)
            put_id_members(e, &lists[i]);
    put(e, "}\n\n");
}

void emit_api(Gen *g, Emit *e)
{
    if (g->o->mode == EmitAot)
        emit_embedded(g, e);
    if (g->o->mode == EmitAot && generates(g))
        emit_defaults(g, e);
    emit_model_struct(g, e);
    if (g->o->mode == EmitAot)
        emit_exports(g, e, false);
}

/* ---- the program ---- */

/* Emits the processor check. It must run before any code that the processor may
 * not support, so that code is in a function of its own, which must not be
 * inlined here. */
static void put_processor(Gen *g, Emit *e)
{
    const Features names = target_needs(g->a, &g->p->target);
    let(e, "target", "%s", g->p->target.name);
    for (int i = 0; i < names.n; i++) {
        let(e, "feature", "%s", names.at[i]);
        put(e, "if (!lacks && !__builtin_cpu_supports(\"$feature\"))\n"
               "    lacks = \"$feature\";\n");
    }
    put(e, "if (lacks) {\n"
           "    fprintf(stderr,\n"
           "            \"%s: made for $target: this processor lacks %s\\n\",\n"
           "            argv[0], lacks);\n"
           "    return 6;\n"
           "}\n");
}

/* True if the file is for processors with certain features. */
static bool asks(const Gen *g)
{
    return !g->o->nlevels && target_needs(g->a, &g->p->target).n > 0;
}

static void put_main(Gen *g, Emit *e)
{
    put(e, "int main(int argc, char **argv)\n"
           "{\n");
    if (asks(g)) {
        put(e, "const char *lacks = NULL;\n"
               "\n");
        put_processor(g, e);
    }
    if (g->o->nlevels)
        put(e, "if (!target_of(NULL)) {\n"
               "    fprintf(stderr, \"%s: this processor is none of:\",\n"
               "            argv[0]);\n"
               "    for (int64_t i = 0; i < LEVELS; i++)\n"
               "        fprintf(stderr, \" %s\", levels[i].name);\n"
               "    fputc('\\n', stderr);\n"
               "    return 6;\n"
               "}\n");
    put(e, "return program_main(argc, argv);\n"
           "}\n");
}

/* The functions below tell if the program contains a file of runtime/. */
static bool encodes(const Gen *g)
{
    return !has_decoder(g->p);
}

static bool talks(const Gen *g)
{
    return generates(g) && has_chat(g);
}

static void put_names(Gen *g, Emit *e)
{
    let(e, "bind", "%s_bind", g->p->prefix);
    let(e, "bind_lazily", "%s_bind_lazily", g->p->prefix);
    let(e, "states", "%d", spec_has(g->p->g->spec, "search.beam"));
    let(e, "chat", "%d", spec_chats(g->p->g->spec));
    put(e, "#ifdef ATTNC_MAIN\n"
           "#define bind_file $bind\n"
           "#define bind_file_lazily $bind_lazily\n");
    if (has_decoder(g->p))
        put(e, "#define spec_states_beam $states\n"
               "#define spec_has_chat $chat\n");
    put(e, "\n");
    if (asks(g))
        put(e, "static __attribute__((noinline)) int program_main(int argc,\n"
               "                                                  char **argv);"
               "\n\n");
}

/* Returns a line of a grammar as a C string that stays readable. */
static const char *grammar_line(Arena *a, const char *line)
{
    Buffer b = { .arena = a };
    buffer_add(&b, "\"", 1);
    for (; *line; line++) {
        const unsigned char c = (unsigned char)*line;
        if (c == '\n')
            buffer_add(&b, "\\n", 2);
        else if (strchr("\"\\?", c)) /* ? because of trigraphs */
            buffer_printf(&b, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            buffer_printf(&b, "\\%03o", c);
        else
            buffer_add(&b, line, 1);
    }
    buffer_add(&b, "\"", 1);
    return b.at;
}

/* Emits the grammar of compile --grammar. */
static void put_grammar(Gen *g, Emit *e)
{
    const char *const *line = g->o->grammar;
    let(e, "bytes", "%lld", (long long)g->o->grammar_bytes);
    put(e, "static const char *const grammar_of_program =\n");
    for (; line && *line; line++) {
        let(e, "line", "%s", grammar_line(g->a, *line));
        put(e, "    $line\n");
    }
    put(e, g->o->grammar ? "    ;\n" : "    NULL;\n");
    put(e, "enum { GRAMMAR_OF_PROGRAM = $bytes }; /* its bytes */\n\n");
}

static bool has_grammar(const Gen *g)
{
    return generates(g) && has_vocabulary(g);
}

/* the files of the program, in their order */
static const struct {
    const char *name;             /* name of a file of runtime/, or NULL */
    void (*put)(Gen *g, Emit *e); /* emits the text if `name` is NULL */
    bool (*has)(const Gen *g);    /* condition for including it; NULL:
                                   * always */
} files[] = {
    { "settings.h", NULL, NULL },
    { "words.c", NULL, NULL },
    { "input_lines.h", NULL, NULL },
    { "input_lines.c", NULL, NULL },
    { "descriptor.h", NULL, NULL },
    { "descriptor.c", NULL, NULL },
    { "shard_record.h", NULL, NULL },
    { "shard_record.c", NULL, NULL },
    { "option_hints.c", NULL, NULL },
    { "search_settings.h", NULL, generates },
    { "search_settings.c", NULL, generates },
    { "program.h", NULL, NULL },
    { "program_messages.c", NULL, NULL },
    { NULL, emit_options, NULL },
    { "program_shard.c", NULL, NULL },
    { "program.c", NULL, NULL },
    { "program_file.c", NULL, NULL },
    { "program_lines.c", NULL, NULL },
    { "program_task.c", NULL, has_tasks },
    { "program_rows.c", NULL, encodes },
    { NULL, put_grammar, has_grammar },
    { "program_grammar.c", NULL, generates },
    { "program_generate.c", NULL, generates },
    { "program_parts.c", NULL, NULL },
    { "program_batches.c", NULL, encodes },
    { "program_queue.c", NULL, generates },
    { "program_score.c", NULL, generates },
    { "program_state.c", NULL, generates },
    { "program_stream.c", NULL, generates },
    { "program_chat.c", NULL, talks },
    { "program_answers.c", NULL, generates },
    { "program_words.c", NULL, NULL },
    { "program_comm.c", NULL, has_ranks },
    { "program_mpi.c", NULL, has_ranks },
    { "program_main.c", NULL, NULL },
};

void emit_main(Gen *g, Emit *e)
{
    put_names(g, e);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].has && !files[i].has(g))
            continue;
        if (files[i].put)
            files[i].put(g, e);
        else
            paste_file(g, e, files[i].name);
    }
    put_main(g, e);
    put(e, "#endif\n");
}
