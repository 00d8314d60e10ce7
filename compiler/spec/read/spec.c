/* spec.c: turns the written values into one checked Spec. It parses values only
 * when all are known, so that `kind` can decide which fields apply, and an
 * inherited value can be overridden completely. */
#include <string.h>
#include <xxhash.h>

#include "spec/fields/fields.h"
#include "tokenizer/tokenizer.h"

typedef struct {
    Arena *arena;
    Spec *spec;
    Written *w;
    FieldState *state; /* state of each field, by row of the table */
    int errors;        /* number of errors reported before this spec */
} Load;

/* ---- values ---- */
static bool written(const Load *l, int row)
{
    return l->w->value[row] != NULL;
}

/* True if a field that this kind of model lacks is ignored without an error,
 * because a scalar set it for both sides, or a later source changed the
 * kind. */
static bool left_out(const Load *l, int row)
{
    const Yaml *kind = l->w->value[field_row("kind")];
    const Pos at = l->w->value[row]->pos;

    return l->w->spread[row] || (kind && at.src->rank < kind->pos.src->rank);
}

static void set_off(Load *l, int row)
{
    l->state[row] = StateOff;
    field_absent(&fields[row], l->spec);
    if (!written(l, row) || left_out(l, row))
        return;
    error_at(l->w->value[row]->pos, "%s does not apply to this kind of model",
             fields[row].key);
    note_at(spec_pos(l->spec, "kind"), "leave it out; kind is here");
}

static bool is_part(const Field *spread, const char *key)
{
    for (int i = 0; spread->type == FieldSpread && spread->words[i]; i++)
        if (!strcmp(spread->words[i], key))
            return field_below(key, spread->key);
    return false;
}

/* Returns the row to report as missing: the one that sets this row and its
 * siblings if none of them is written, otherwise this row. */
static int missing_row(const Load *l, int row)
{
    int spread = 0;

    while (spread < row && !is_part(&fields[spread], fields[row].key))
        spread++;
    if (spread == row)
        return row;
    for (int i = 0; fields[spread].words[i]; i++)
        if (written(l, field_row(fields[spread].words[i])))
            return row;
    return spread;
}

/* Returns the position of the --set that removed the key, or else the position
 * where the key belongs. */
static Pos missing_pos(const Load *l, int row, const char *key)
{
    const Pos unset = l->w->unset[row];
    return unset.src ? unset : spec_pos(l->spec, key);
}

/* Returns a suggestion for a missing field: its only valid value, a name made
 * from the file name, or the usual multiple of d_model; "" if there is none. */
static const char *suggested_line(Load *l, const Field *f)
{
    const char *file = base_name(l->spec->path);
    const char *name = arena_strndup(l->arena, file, strcspn(file, "."));

    if (f->type == FieldInt && f->least == f->most)
        return arena_printf(l->arena, "write `%s: %.10g`; ", f->key, f->least);
    if (f->type == FieldName && is_name(name))
        return arena_printf(l->arena, "write `%s: %s`, or another name; ",
                            f->key, name);
    if (field_below(f->key, "d_ff") && l->spec->d_model > 0)
        return arena_printf(l->arena, "write `%s: %lld`, the usual value; ",
                            f->key, 4 * (long long)l->spec->d_model);
    return "";
}

static void missing(Load *l, int row)
{
    const Field *f = &fields[row], *of = &fields[missing_row(l, row)];

    l->state[row] = StateBad;
    if (l->state[of - fields] == StateBad && of != f)
        return; /* already reported for a sibling */
    l->state[of - fields] = StateBad;
    error_at(missing_pos(l, row, of->key), "%s is missing", of->key);
    note_at((Pos){ 0 }, "%sit must be %s. %s", suggested_line(l, of),
            field_wants(l->arena, f), of->doc);
}

/* Reads a field. A value written for both sides is read once per side but its
 * errors are reported once, for the key under which it was written. */
static bool read_value(Load *l, int row)
{
    Field f = fields[row];

    for (int i = 0; l->w->spread[row] && i < row; i++) {
        if (l->w->value[i] != l->w->value[row])
            continue;
        if (l->state[i] == StateBad)
            return false;
        if (fields[i].type == FieldSpread)
            f.key = fields[i].key;
    }
    l->spec->field_pos[row] = l->w->value[row]->pos;
    return field_read(l->arena, &f, l->spec, l->w->value[row]);
}

/* True if the field belongs to a stack with a pattern, whose rows may set
 * it. */
static bool is_of_rows(const Load *l, const char *key)
{
    const char *dot = strrchr(key, '.');
    const Side side = dot && !strcmp(dot, ".decoder") ? SideDecoder
                                                      : SideEncoder;

    return field_of_layers(key) && !(l->spec->layers_of & 1u << side);
}

static void read_row(Load *l, int row)
{
    const Field *f = &fields[row];

    if (!(f->kinds & 1u << l->spec->kind)) {
        set_off(l, row);
    } else if (written(l, row)) {
        l->state[row] = read_value(l, row) ? StateSet : StateBad;
    } else if (!f->preset
               && (means_nothing(l->w, f->key) || is_of_rows(l, f->key))) {
        field_absent(f, l->spec);
    } else if (!f->preset) {
        missing(l, row);
    } else {
        field_absent(f, l->spec);
        field_default(l->arena, f, l->spec);
    }
}

/* Reads all rows. If `kind` is missing, no field can be missing or out of
 * place. */
static bool read_rows(Load *l)
{
    int kind = field_row("kind");

    read_row(l, kind);
    for (int i = 0; i < n_fields; i++) {
        if (i == kind)
            continue;
        if (l->state[kind] != StateBad)
            read_row(l, i);
        else if (written(l, i))
            l->state[i] = read_value(l, i) ? StateSet : StateBad;
    }
    return l->state[kind] != StateBad;
}

/* ---- vocabularies ---- */
static int64_t count_tokens(Load *l, const SpecVocab *v)
{
    char *path = spec_path(l->arena, v->file_pos, v->file);
    Fault why;
    int64_t n = vocab_count(path, &why);

    if (n < 0)
        error_fault(v->file_pos, &why);
    if (n == 0)
        error_at(v->file_pos, "%s has no tokens", quote(path));
    return n;
}

static void find_size(Load *l, SpecVocab *v, const char *size_key,
                      const char *file_key)
{
    int size = field_row(size_key), file = field_row(file_key);

    if (v->size || l->state[size] == StateOff || l->state[size] == StateBad
        || l->state[file] == StateBad)
        return;
    if (v->file) {
        v->size = count_tokens(l, v);
    } else {
        const bool both = l->spec->kind == KindEncoderDecoder;
        error_at(missing_pos(l, size, size_key), "%s is missing",
                 both ? size_key : "vocab.size");
        note_at((Pos){ 0 }, "give the size, or the file of the tokens as %s",
                both ? file_key : "vocab.file");
    }
    if (v->size <= 0)
        l->state[size] = StateBad;
}

/* If only one side has the shared vocabulary, gives it to the other side
 * too. */
static void share(Spec *s)
{
    if (!s->source.size && !s->source.file)
        s->source = s->target;
    else if (!s->target.size && !s->target.file)
        s->target = s->source;
}

/* Drops the source vocabulary if the source is rows of numbers. Reports an
 * error instead if it was not inherited. */
static void drop_source(Load *l)
{
    static const char *const keys[] = { "vocab.source.size",
                                        "vocab.source.file" };
    Spec *s = l->spec;
    const Pos input = spec_pos(s, "input.type");

    for (int i = 0; i < 2; i++) {
        int row = field_row(keys[i]);
        Pos at = s->field_pos[row];
        if (l->state[row] != StateSet || l->w->spread[row]
            || at.src->rank < input.src->rank)
            continue;
        error_at(at, "%s does not apply to input: real", keys[i]);
        note_at(input, "input is here");
    }
    s->source = (SpecVocab){ 0 };
    s->vocab_shared = s->append_end = false;
}

static void find_vocabularies(Load *l)
{
    Spec *s = l->spec;

    s->source.file_pos = spec_pos(s, "vocab.source.file");
    s->target.file_pos = spec_pos(s, "vocab.target.file");
    if (s->input == InputReal)
        drop_source(l);
    if (s->vocab_shared)
        share(s);
    if (s->input == InputTokens)
        find_size(l, &s->source, "vocab.source.size", "vocab.source.file");
    find_size(l, &s->target, "vocab.target.size", "vocab.target.file");
}

/* ---- spec ---- */

/* True if the field changes the emitted code but not the results. */
static bool is_of_code(const Field *f)
{
    return f->type >= FieldNoValue || field_below(f->key, "fix");
}

/* Returns a hash of all fields that change results, in the order of the
 * table. */
uint64_t hash_spec(Arena *a, const Spec *s)
{
    VEC(char) text = { 0 };
    const char *line;

    for (int i = 0; i < n_fields + s->names.n; i++) {
        if (i >= n_fields) {
            const SpecName *n = &s->names.at[i - n_fields];
            line = name_text(a, n);
        } else if (fields[i].type == FieldLayers && !s->layers) {
            continue;
        } else if (!is_of_code(&fields[i])) {
            line = arena_printf(a, "%s=%s\n", fields[i].key,
                                field_text(a, &fields[i], s));
        } else {
            continue;
        }
        for (; *line; line++)
            vec_push(a, &text, *line);
    }
    return XXH3_64bits(text.at, (size_t)text.n);
}

static Spec *new_spec(Arena *a, const char *path, Pos top, unsigned sides)
{
    Spec *s = arena_alloc(a, sizeof *s);

    s->path = arena_strdup(a, path);
    s->folder = folder_of(a, path);
    s->top = top;
    s->layers_of = sides;
    s->field_pos = arena_alloc(a, (size_t)n_fields * sizeof *s->field_pos);
    s->max_output_plus = -1;
    s->has_q = s->has_k = s->has_v = s->has_o = true;
    return s;
}

/* Checks the slices that `names` describes. All sizes must be valid. */
static void check_slices(Load *l)
{
    const Spec *s = l->spec;

    for (int i = 0; i < s->names.n && error_count() == l->errors; i++)
        if (s->names.at[i].nparts)
            slices_fit(s, &s->names.at[i], &(FileTensor){ 0 });
}

static void resolve(Load *l)
{
    drop_details(l->w);
    bool known = read_rows(l);

    l->spec->weights_pos = spec_pos(l->spec, "weights");
    for (int i = 0; i < l->w->names.n; i++)
        names_add(l->arena, l->spec, l->w->names.at[i].ours,
                  l->w->names.at[i].theirs);
    if (!known)
        return;
    find_vocabularies(l);
    check_spec(l->spec, l->state);
    check_slices(l);
    if (error_count() == l->errors)
        warn_of_what_stays(l->arena, l->w, l->state, l->spec);
}

Spec *spec_resolve(Arena *a, const char *path, const Written *w, unsigned sides)
{
    const int errors = error_count();
    const size_t n = (size_t)n_fields;
    Load l = { a, new_spec(a, path, w->top, sides), written_copy(a, w),
               arena_alloc(a, n * sizeof *l.state), errors };

    resolve(&l);
    return error_count() == errors ? l.spec : NULL;
}

bool spec_chats(const Spec *s)
{
    return s->chat.user.prefix || s->chat.user.suffix
        || s->chat.assistant.prefix;
}

struct attn_task spec_task(const Spec *s, int64_t task)
{
    if (task == ATTN_TASK_QUERY)
        return (struct attn_task){ .length = s->query_length,
                                   .prefix = s->query_prefix,
                                   .fill = s->query_token,
                                   .attend = s->query_attend,
                                   .cut = s->query_cut };
    return (struct attn_task){ .length = s->document_length,
                               .prefix = s->document_prefix,
                               .fill = -1,
                               .cut = true,
                               .skip = s->document_skip.at,
                               .skips = s->document_skip.n };
}

struct attn_texts spec_texts(const Spec *s, struct attn_task *task)
{
    task[ATTN_TASK_QUERY] = spec_task(s, ATTN_TASK_QUERY);
    task[ATTN_TASK_DOCUMENT] = spec_task(s, ATTN_TASK_DOCUMENT);
    return (struct attn_texts){ .tasks = task,
                                .fill_is_hidden = spec_hides_fill(s),
                                .prompts = s->prompts.at,
                                .prompt = s->prompt,
                                .pair = s->pair };
}

struct attn_chat spec_chat(const Spec *s)
{
    struct attn_chat chat = s->chat;
    const char **const texts[] = {
        &chat.begin,
        &chat.system.prefix,
        &chat.system.suffix,
        &chat.user.prefix,
        &chat.user.suffix,
        &chat.assistant.prefix,
        &chat.assistant.suffix,
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!*texts[i])
            *texts[i] = "";
    chat.system_inside = s->chat_system_inside;
    chat.system_skipped = s->chat_system_skipped;
    chat.trim = (int)s->chat_trim;
    return chat;
}

int spec_unwritten(const Spec *s, int32_t ids[2])
{
    int n = 0;

    if (s->token_start >= 0)
        ids[n++] = (int32_t)s->token_start;
    if (s->token_pad >= 0 && s->token_pad != s->token_start)
        ids[n++] = (int32_t)s->token_pad;
    return n;
}

struct attn_search_options spec_search(const Spec *s, int32_t ids[2])
{
    const int64_t ends = s->token_ends.n; /* the first end token is token_end */

    return (struct attn_search_options){
        .beam = s->search_beam,
        .results = 1,
        .rule = s->search_rule,
        .penalty = s->search_penalty,
        .alpha = (float)s->search_alpha,
        .max_output = attn_max(s->max_output, 0),
        .max_output_plus = s->max_output_plus,
        .patience = 1.0f,
        .start = (int32_t)s->token_start,
        .end = (int32_t)s->token_end,
        .ends = ends > 0 ? s->token_ends.at + 1 : NULL,
        .ends_count = attn_max(ends - 1, 0),
        .prefix = s->search_prefix.at,
        .prefix_n = s->search_prefix.n,
        .process = { .min_length = s->min_length,
                     .min_total = s->min_total,
                     .repetition_penalty = (float)s->repetition_penalty,
                     .no_repeat_ngram = s->no_repeat_ngram,
                     .log_probabilities = s->search_processors,
                     .suppress = s->suppress.at,
                     .suppress_size = s->suppress.n,
                     .suppress_first = s->suppress_first.at,
                     .suppress_first_count = s->suppress_first.n,
                     .forbid = ids,
                     .forbid_count = spec_unwritten(s, ids) },
    };
}
