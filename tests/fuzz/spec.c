/* spec.c: fuzzes a spec, all the way to C: tree, fields, graph, passes, plan,
 * text. An input is up to four files: spec.yaml, and base.yaml, tokens.txt and
 * mask.txt, which it may name. Its size decides how it is compiled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "engine/engine.h"
#include "spec/fields/fields.h"
#include "fuzz.h"

enum { Ways = 4 };

typedef struct {
    size_t size;
} Input;

static void emit_all(Engine *e, size_t way)
{
    size_t n;
    EmitOptions o = { .mode = way == 1 ? EmitJit
                            : way == 2 ? EmitModel
                                       : EmitAot,
                      .freestanding = way == 1,
                      .command = "attnc compile" };
    emit_header(e->arena, e->plan, &o, &n);
    emit_model(e->arena, e->plan, &o, &n);
    for (int i = 0; i < e->plan->task.n && i < 8; i++)
        emit_task(e->arena, e->plan, &e->plan->task.at[i], o.mode, &n);
    print_graph(e->arena, e->graph, way ? GraphText : GraphDot);
}

static int compile(void *with)
{
    static const char *const march[Ways] = { "x86-64-v3", "x86-64-v4",
                                             "x86-64-v4", "generic" };
    static const char *const all[] = { "all" };
    const Input *in = with;
    const size_t way = in->size % Ways;
    Engine e;
    EngineOptions o = {
        .spec = "spec.yaml",
        .march = march[way],
        .backend = way == 1 ? "jit" : "clang",
        .passes = { .explain = true, .skip = all, .nskip = way == 2 },
    };
    const int code = engine_plan(&e, &o);
    if (!code)
        emit_all(&e, way);
    engine_close(&e);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char base[] =
        "attnc: 1\nname: base\nkind: encoder-decoder\n"
        "d_model: 16\nh: 2\nd_ff: 32\nN: 1\nmax_len: 8\nvocab: {size: 11}\n";
    static const char *const name[] = { "spec.yaml", "base.yaml", "tokens.txt",
                                        "mask.txt" };
    Input in = { size };
    const uint8_t *usual = (const uint8_t *)base;
    FuzzPart part[8] = { { NULL, 0 },
                         { usual, sizeof base - 1 },
                         { (const uint8_t *)"a\nb\nc\nd\n", 8 },
                         { (const uint8_t *)"10\n11\n", 6 } };
    fuzz_parts(part, data, size);
    fuzz_limits.layers = 4;
    fuzz_files_clear();
    for (int i = 0; i < 4; i++)
        fuzz_file(name[i], part[i].at, part[i].n);
    fuzz_run(compile, &in);
    return 0;
}

/* ---- mutator ---- */
typedef struct {
    char at[512];
    size_t n;
} Line;

static void add(Line *l, const char *text)
{
    const size_t n = strlen(text);
    if (l->n + n < sizeof l->at) {
        memcpy(l->at + l->n, text, n);
        l->n += n;
    }
}

static void add_number(Line *l, FuzzDice *d, const Field *f)
{
    char text[64];
    const double some[] = { f->least,
                            f->most,
                            f->least - 1,
                            f->most + 1,
                            16.0 * fuzz_dice(d, 9),
                            (double)fuzz_number(d),
                            0.1 * fuzz_dice(d, 30),
                            1e-5 };
    const uint32_t i = fuzz_dice(d, 20);
    snprintf(text, sizeof text, "%.12g",
             i < 8 ? some[i] : (double)(1u << fuzz_dice(d, 5)));
    add(l, text);
}

static void add_word(Line *l, FuzzDice *d, const char *const *words)
{
    uint32_t n = 0;
    while (words && words[n])
        n++;
    add(l, n ? words[fuzz_dice(d, n)] : "false");
}

static void add_activation(Line *l, FuzzDice *d)
{
    static const char *const some[][2] = {
#define ACT(name, text, gated, other, formula) { text, gated },
#include "spec/fields/activations.h"
    };
    const char *const *row = some[fuzz_dice(d, ActCount)];
    add(l, row[1] && fuzz_dice(d, 2) ? row[1] : row[0]);
}

static void add_mask(Line *l, FuzzDice *d)
{
    static const char *const some[] = { "none",
                                        "causal",
                                        "prefix",
                                        "[causal, prefix]",
                                        "{window: 2}",
                                        "[causal, {window: 3}]",
                                        "{file: mask.txt}",
                                        "{file: tokens.txt}",
                                        "[causal, {file: mask.txt}]",
                                        "{block: 2}",
                                        "[]",
                                        "[{}]" };
    add(l, some[fuzz_dice(d, sizeof some / sizeof *some)]);
}

static void add_name(Line *l, FuzzDice *d)
{
    static const char *const forms[] = {
        "x",
        "a.{i}.b",
        "{tensor: t, rows: [q, k, v]}",
        "{tensor: t, rows: [q, k, v], groups: 2}",
        "{transpose: true}",
        "{tensor: \"e.{i}\", transpose: true}",
        "{fill: 1}",
        "{scale: 0.5, add: 1}",
        "{tensor: t, columns: [k, v]}",
        "",
        "{i}{i}"
    };
    uint32_t n = 0;
    while (weight_names[n])
        n++;
    const char *name = weight_names[fuzz_dice(d, n)];
    add(l, "names: {\"");
    if (strncmp(name, "{s}", 3) == 0) {
        add(l, fuzz_dice(d, 2) ? "encoder" : "decoder");
        name += 3;
    }
    add(l, name);
    while (fuzz_dice(d, 3) == 0 && l->at[l->n - 1] != '"')
        l->n--; /* the beginning of a name is valid, too */
    add(l, "\": ");
    add(l, forms[fuzz_dice(d, sizeof forms / sizeof *forms)]);
    add(l, "}");
}

/* Writes a word, or a map from beginnings of names to words. */
static void add_dtypes(Line *l, FuzzDice *d, const char *const *words)
{
    static const char *const keys[] = { "default",   "embedding", "logits",
                                        "encoder",   "encoder.0", "target",
                                        "decoder.0", "ffn",       "x." };
    if (fuzz_dice(d, 3) == 0) {
        add_word(l, d, words);
        return;
    }
    add(l, "{");
    for (uint32_t i = 0, n = fuzz_dice(d, 4); i < n; i++) {
        add(l, i ? ", " : "");
        add(l, keys[fuzz_dice(d, sizeof keys / sizeof *keys)]);
        add(l, fuzz_dice(d, 8) ? ": " : ": {0: ");
        add_word(l, d, words);
    }
    add(l, "}");
}

static void add_value(Line *l, FuzzDice *d, const Field *f)
{
    static const char *const odd[] = { "true",
                                       "false",
                                       "",
                                       "~",
                                       "[]",
                                       "{}",
                                       "\"x\"",
                                       "0x10",
                                       "1e400",
                                       "nan",
                                       "[source, logits]",
                                       "base.yaml",
                                       "tokens.txt",
                                       "mask.txt",
                                       "spec.yaml" };
    enum { Odd = sizeof odd / sizeof *odd };
    if (fuzz_dice(d, 12) == 0) {
        add_activation(l, d);
        return;
    }
    switch (fuzz_dice(d, 8) ? f->type : FieldPath) {
    case FieldInt:
    case FieldReal:  add_number(l, d, f); break;
    case FieldBool:  add(l, fuzz_dice(d, 2) ? "true" : "false"); break;
    case FieldEnum:
    case FieldScale: add_word(l, d, f->words); break;
    case FieldFlags:
        add(l, "[");
        add_word(l, d, f->words);
        add(l, ", ");
        add_word(l, d, f->words);
        add(l, "]");
        break;
    case FieldActivation: add_activation(l, d); break;
    case FieldDtypes:     add_dtypes(l, d, f->words); break;
    case FieldMask:       add_mask(l, d); break;
    default:              add(l, odd[fuzz_dice(d, Odd)]); break;
    }
}

/* Writes a line that the format may have: "positions.type: rotary". */
static Line some_line(FuzzDice *d)
{
    Line l = { .n = 0 };
    const Field *f = &fields[fuzz_dice(d, (uint32_t)n_fields)];
    if (fuzz_dice(d, 16) == 0 || f->type == FieldNames) {
        add_name(&l, d);
    } else {
        add(&l, f->key);
        add(&l, ": ");
        add_value(&l, d,
                  f->type == FieldSpread && f + 1 < fields + n_fields ? f + 1
                                                                      : f);
    }
    add(&l, "\n");
    return l;
}

/* Returns the start of the line that contains a random byte; *end is after its
 * newline. */
static size_t pick_line(FuzzDice *d, const uint8_t *data, size_t size,
                        size_t *end)
{
    size_t at = fuzz_dice(d, (uint32_t)size);
    *end = at;
    while (at > 0 && data[at - 1] != '\n')
        at--;
    while (*end < size && data[(*end)++] != '\n')
        continue;
    return at;
}

/* Replaces data[from .. to - 1] by the line. */
static size_t put_line(uint8_t *data, size_t size, size_t most, size_t from,
                       size_t to, const Line *l)
{
    if (size - (to - from) + l->n > most)
        return size;
    memmove(data + from + l->n, data + to, size - to);
    memcpy(data + from, l->at, l->n);
    return size - (to - from) + l->n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 8);
    if (size == 0 || what == 0)
        return LLVMFuzzerMutate(data, size, most);
    for (uint32_t i = 0, n = 1 + fuzz_dice(&d, 3); i < n && size; i++) {
        size_t to, from = pick_line(&d, data, size, &to);
        if (what == 1) {
            size = put_line(data, size, most, from, to, &(Line){ .n = 0 });
        } else if (what == 2) {
            size = fuzz_change(data, size, most, from, to - from);
        } else {
            const Line l = some_line(&d);
            size = put_line(data, size, most, from, what < 5 ? to : from, &l);
        }
    }
    return size;
}
