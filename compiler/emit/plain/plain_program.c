/* plain_program.c: emits the code around the model in plain C: the code that
 * loads the weights and, under ATTNC_MAIN, a program that answers lines of ids
 * or blocks of numbers. Generating models use greedy search. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"

#include <string.h>

/* ---- weights ---- */

/* Returns the first line of the weights file, which identifies the model. */
const char *plain_magic(Arena *a, const Plan *p)
{
    return arena_printf(a, "attnc plain weights %016llx of %s",
                        (unsigned long long)p->pack.hash, p->g->spec->name);
}

static void emit_weights_file(Plain *p, Emit *e)
{
    const char *magic = plain_magic(p->g.a, p->g.p);
    let(e, "read", "%s_read", p->g.p->prefix);
    let(e, "magic", "%s", c_string(p->g.a, magic, strlen(magic)));
    put(e,
        "/* Reads weights from a file: a line that names the model, then the struct\n"
        " * as in memory, little-endian. Returns 0 if the file is for another\n"
        " * model. */\n"
        "int $read(struct weights *w, FILE *file)\n"
        "{\n"
        "    static const char line[] = $magic \"\\n\";\n"
        "    char first[sizeof line];\n"
        "\n"
        "    return fread(first, sizeof line - 1, 1, file) == 1\n"
        "        && memcmp(first, line, sizeof line - 1) == 0\n"
        "        && fread(w, sizeof *w, 1, file) == 1 && getc(file) == EOF;\n"
        "}\n\n");
}

/* Emits the bytes of the weight struct as a literal, 16 per line. */
static void emit_literal(Plain *p, Emit *e)
{
    const EmitOptions *o = p->g.o;
    char line[96];
    put(e, "/* The weights: the bytes of the struct. */\n"
           "static const union {\n"
           "    unsigned char bytes[sizeof(struct weights)];\n"
           "    struct weights weights;\n"
           "} inside = { {\n");
    for (size_t i = 0; i < o->embed_bytes; i += 16) {
        int n = 0;
        for (size_t k = i; k < i + 16 && k < o->embed_bytes; k++)
            n += snprintf(line + n, sizeof line - (size_t)n, "%s%u,",
                          k == i ? "    " : "", o->embed[k]);
        line[n++] = '\n';
        emit_raw(e, line, (size_t)n);
    }
    put(e, "} };\n\n");
    let(e, "weights", "%s_weights", p->g.p->prefix);
    put(e, "const struct weights *$weights(void)\n"
           "{\n"
           "    return &inside.weights;\n"
           "}\n\n");
}

/* ---- the program ---- */

/* Returns the last argument of encode(): no prefix or, if only its rows are
 * visible, all n rows. */
static const char *plain_prefix_argument(const Plain *p)
{
    return !plain_prefix(p, EntryEncode)    ? ""
         : spec_hides_fill(p->g.p->g->spec) ? ", n"
                                            : ", 0";
}

static void let_entries(Plain *p, Emit *e)
{
    const Spec *s = p->g.p->g->spec;
    const bool types = plain_reads(p, BatchTypes);
    const SpecVocab *v = s->kind == KindDecoder ? &s->target : &s->source;
    let(e, "read", "%s_read", p->g.p->prefix);
    let(e, "encode", "%s_%s", p->g.p->prefix, plain_entry_name(p, EntryEncode));
    let(e, "decode", "%s_decode", p->g.p->prefix);
    let(e, "last", "%lld", (long long)v->size - 1);
    let(e, "types", types ? ", types" : "");
    let(e, "encode_prefix", "%s", plain_prefix_argument(p));
    let(e, "decode_prefix", plain_prefix(p, EntryDecode) ? ", 0" : "");
    const bool typed = types && s->kind == KindDecoder;
    const bool one = p->decode_rows == 1;
    let(e, "token", "%s%s%s", one ? "tokens[past]" : "tokens + past",
        !typed ? ""
        : one  ? ", 0"
               : ", types",
        one ? "" : ", 1");
    const int64_t width = s->kind == KindAttention ? s->d_model
                                                   : s->input_width;
    const int64_t first = spec_input_learned(s);
    const int64_t most =
        s->side[s->kind == KindDecoder ? SideDecoder : SideEncoder].max_len;
    let(e, "width", "%lld", (long long)width);
    let(e, "first", "%lld", (long long)first);
    let(e, "most", "%lld", (long long)(most - first));
    let(e, "x", first ? "x + %lld * %lld" : "x", (long long)first,
        (long long)width);
}

/* Emits an array of ids, terminated by -1. */
static void put_id_list(Emit *e, const char *name, const int32_t *ids,
                        int64_t n)
{
    const char *text = "";
    Arena *a = emit_arena(e);
    for (int64_t i = 0; i < n; i++)
        text = arena_printf(a, "%s%s%d", text, i ? ", " : "", ids[i]);
    put_words(e,
              arena_printf(a, "static const int %s[] = { %s%s-1 };", name, text,
                           n ? ", " : ""),
              "    ");
}

static void emit_search(Plain *p, Emit *e)
{
    const Spec *s = p->g.p->g->spec;
    int32_t ids[2];
    VEC(int32_t) never = { 0 }, ends = { 0 }, first = { 0 };
    const int unwritten = spec_unwritten(s, ids);
    for (int i = 0; i < s->token_ends.n; i++)
        vec_push(p->g.a, &ends, s->token_ends.at[i]);
    if (!s->token_ends.n && s->token_end >= 0)
        vec_push(p->g.a, &ends, (int32_t)s->token_end);
    for (int i = 0; i < unwritten; i++)
        if (ids[i] != s->token_end)
            vec_push(p->g.a, &never, ids[i]);
    for (int i = 0; i < s->suppress.n; i += 1 + s->suppress.at[i])
        if (s->suppress.at[i] == 1)
            vec_push(p->g.a, &never, s->suppress.at[i + 1]);
    for (int i = 0; i < s->suppress_first.n; i++)
        vec_push(p->g.a, &first, s->suppress_first.at[i]);
    put_id_list(e, "ends", ends.at, ends.n);
    put_id_list(e, "never", never.at, never.n);
    if (first.n)
        put_id_list(e, "never_first", first.at, first.n);
    if (s->search_prefix.n)
        put_id_list(e, "forced", s->search_prefix.at, s->search_prefix.n);
    let(e, "logits", "%d", output_columns(p->g.p));
    let(e, "start", "%lld", (long long)s->token_start);
    const int64_t plus = s->max_output_plus - spec_input_learned(s);
    let(e, "plus", plus < 0 ? "- %lld" : "+ %lld",
        (long long)(plus < 0 ? -plus : plus));
}

/* Emits the function that reads a line of ids. Its error messages match attnc's
 * other programs. */
static void put_read_ids(Emit *e)
{
    put(e,
        "/* Reads the ids of a line. Returns their number, or -1. */\n"
        "static int read_ids(const char *at, int *ids, int most, int line)\n"
        "{\n"
        "    int n = 0, used;\n"
        "\n"
        "    while (n <= most && sscanf(at, \"%d%n\", ids + n, &used) == 1) {\n"
        "        if (ids[n] < 0 || ids[n] > $last)\n"
        "            break;\n"
        "        at += used;\n"
        "        n++;\n"
        "    }\n"
        "    if (n <= most && at[strspn(at, \" \\t\\r\\n\")] == '\\0')\n"
        "        return n;\n"
        "    fprintf(stderr, \"<stdin>:%d: error: up to %d ids of 0 to %d \"\n"
        "            \"are expected\\n\", line, most, $last);\n"
        "    return -1;\n"
        "}\n\n");
}

static void put_print_rows(Emit *e)
{
    put(e, "static void print_rows(const float *y, int rows, int d)\n"
           "{\n"
           "    for (int i = 0; i < rows * d; i++)\n"
           "        printf(\"%.9g%c\", y[i], (i + 1) % d ? ' ' : '\\n');\n"
           "}\n\n");
}

/* Emits the call that prints the answer for n rows of `x`, indented by
 * `indent`. */
static void put_plain_answer(Plain *p, Emit *e, const char *indent,
                             const char *x)
{
    Arena *a = p->g.a;
    if (has_decoder(p->g.p)) {
        put_call(e, arena_printf(a, "%sgenerate", indent),
                 arena_printf(a, "w, s, %s, n", x), ";");
        return;
    }
    put_call(e, arena_printf(a, "%sprint_rows", indent),
             arena_printf(a, "%s_encode(w, s, %s%s, n%s), %s, %d",
                          p->g.p->prefix, x,
                          plain_reads(p, BatchTypes) ? ", types" : "",
                          plain_prefix_argument(p),
                          is_pooled(p->g.p) ? "1" : "n",
                          output_columns(p->g.p)),
             ";");
}

static void put_types(const Plain *p, Emit *e)
{
    if (plain_reads(p, BatchTypes) && !has_decoder(p->g.p))
        put(e, "static const int types[MAX_SOURCE];\n");
}

/* Emits the loop over lines of ids. */
static void put_answer_lines(Plain *p, Emit *e)
{
    let(e, "side", p->g.p->g->spec->kind == KindDecoder ? "TARGET" : "SOURCE");
    put(e, "static int answer(const struct weights *w, struct state *s)\n"
           "{\n"
           "    static char line[16 * (MAX_$side + 1)];\n"
           "    static int ids[MAX_$side + 1];\n");
    put_types(p, e);
    put(e, "int status = 0;\n"
           "\n"
           "for (int l = 1; fgets(line, sizeof line, stdin); l++) {\n"
           "    const int n = read_ids(line, ids, MAX_$side, l);\n"
           "\n"
           "    if (n < 0)\n"
           "        status = 3;\n"
           "    if (n > 0)\n");
    put_plain_answer(p, e, "    ", "ids");
    put(e, "printf(\"\\n\");\n"
           "}\n"
           "return status;\n"
           "}\n\n");
}

/* Emits the function that reads rows of numbers, up to an empty line. */
static void put_read_rows(Emit *e)
{
    put(e,
        "/* Reads lines of numbers up to an empty one. Returns how many, or -1. */\n"
        "static int read_rows(float *x, int most)\n"
        "{\n"
        "    static char line[32 * $width + 32];\n"
        "    int rows = 0;\n"
        "\n"
        "    for (; fgets(line, sizeof line, stdin); rows++) {\n"
        "        char *at = line, *end;\n"
        "\n"
        "        if (line[0] == '\\n')\n"
        "            break;\n"
        "        for (int j = 0; j < $width && rows < most; j++, at = end) {\n"
        "            x[rows * $width + j] = strtof(at, &end);\n"
        "            if (end == at)\n"
        "                return -1;\n"
        "        }\n"
        "    }\n"
        "    return rows <= most ? rows : -1;\n"
        "}\n\n");
}

/* Emits the loop over blocks of numbers. The input follows the learned rows. */
static void put_answer_rows(Plain *p, Emit *e)
{
    put(e, "static int answer(const struct weights *w, struct state *s)\n"
           "{\n"
           "    static float x[MAX_SOURCE * $width];\n");
    put_types(p, e);
    put(e, "int n;\n"
           "\n"
           "while ((n = read_rows($x, $most)) > 0) {\n");
    if (spec_input_learned(p->g.p->g->spec))
        put(e, "n += $first;\n");
    put_plain_answer(p, e, "", "x");
    put(e, "printf(\"\\n\");\n"
           "}\n"
           "if (n < 0)\n"
           "    fprintf(stderr, \"error: up to %d rows of %d numbers are \"\n"
           "            \"expected\\n\", $most, $width);\n"
           "return n < 0 ? 3 : 0;\n"
           "}\n\n");
}

static void put_attention(Plain *p, Emit *e)
{
    let(e, "d", "%d", output_columns(p->g.p));
    put_read_rows(e);
    put_print_rows(e);
    put(e,
        "static int answer(const struct weights *w, struct state *s)\n"
        "{\n"
        "    static float query[MAX_SOURCE * $width];\n"
        "    static float key[MAX_TARGET * $width], value[MAX_TARGET * $width];\n"
        "    const int n = read_rows(query, MAX_SOURCE);\n"
        "    const int m = read_rows(key, MAX_TARGET);\n"
        "\n"
        "    if (n < 1 || m < 0 || read_rows(value, MAX_TARGET) != m) {\n"
        "        fprintf(stderr, \"error: queries, keys, and as many \"\n"
        "                \"values are expected\\n\");\n"
        "        return 3;\n"
        "    }\n"
        "    print_rows($encode(w, s, query, key, value, n, m$encode_prefix),\n"
        "               n, $d);\n"
        "    printf(\"\\n\");\n"
        "    return 0;\n"
        "}\n\n");
}

/* Emits the function that returns the most likely token, for greedy search. */
static void put_choice(Plain *p, Emit *e)
{
    const Spec *s = p->g.p->g->spec;
    const bool first = s->suppress_first.n > 0;
    emit_search(p, e);
    let(e, "number", first ? ", number n of an answer" : "");
    let(e, "n", first ? ", int n" : "");
    let(e, "allowed", "%s",
        first ? arena_printf(p->g.a,
                             "\n            && !(n == %lld && "
                             "is_in(never_first, i))",
                             (long long)s->search_prefix.n)
              : "");
    put(e,
        "\n"
        "static int is_in(const int *list, int id)\n"
        "{\n"
        "    for (; *list >= 0; list++)\n"
        "        if (*list == id)\n"
        "            return 1;\n"
        "    return 0;\n"
        "}\n"
        "\n"
        "/* Returns the likeliest allowed token$number. */\n"
        "static int likeliest(const float *logits$n)\n"
        "{\n"
        "    int best = -1;\n"
        "\n"
        "    for (int i = 0; i < $logits; i++)\n"
        "        if ((best < 0 || logits[i] > logits[best]) && !is_in(never, i)$allowed)\n"
        "            best = i;\n"
        "    return best;\n"
        "}\n\n");
}

/* Binds the parts of the search that depend on forced tokens. */
static void let_choice(Plain *p, Emit *e)
{
    const Spec *s = p->g.p->g->spec;
    const long long forced = (long long)s->search_prefix.n;
    const char *chosen = s->suppress_first.n ? "likeliest(logits, k)"
                                             : "likeliest(logits)";
    if (forced)
        chosen = arena_printf(p->g.a, "k < %lld ? forced[k] : %s", forced,
                              chosen);
    let(e, "chosen", "%s", chosen);
    let(e, "ended",
        forced ? "(k >= %lld && is_in(ends, token))" : "is_in(ends, token)",
        forced);
}

static void put_plain_generate(Plain *p, Emit *e)
{
    const Spec *s = p->g.p->g->spec;
    const bool both = s->kind == KindEncoderDecoder;
    let(e, "source", plain_reads(p, BatchInput) ? "float" : "int");
    let(e, "side", both ? "SOURCE" : "TARGET");
    let(e, "most_out", "%lld", (long long)s->max_output);
    put_choice(p, e);
    let_choice(p, e);
    put(e, "/* Answers n ids by greedy search and prints the tokens. */\n"
           "static void generate(const struct weights *w, struct state *s,\n"
           "                     const $source *ids, int n)\n"
           "{\n"
           "    static int tokens[MAX_TARGET + 1];\n");
    if (plain_reads(p, BatchTypes) && (both || p->decode_rows > 1))
        put(e, "static const int types[MAX_$side];\n");
    put(e, "const float *logits = NULL;\n"
           "int end = 0, past = 0, most;\n"
           "\n");
    if (s->token_start >= 0)
        put(e, "tokens[end++] = $start;\n");
    if (both)
        put(e, "$encode(w, s, ids$types, n$encode_prefix);\n");
    else
        put(e, "for (int i = 0; i < n && end < MAX_TARGET; i++)\n"
               "    tokens[end++] = ids[i];\n");
    put(e, "most = MAX_TARGET - end + 1;\n");
    if (s->max_output > 0)
        put(e, "most = most < $most_out ? most : $most_out;\n");
    if (s->max_output_plus >= 0)
        put(e, "most = most < n $plus ? most : n $plus;\n");
    put(e, "for (int k = 0; k < most; k++) {\n"
           "    int token;\n"
           "\n"
           "    for (; past < end; past++)\n"
           "        logits = $decode(w, s, $token, past$decode_prefix);\n"
           "    token = $chosen;\n"
           "    if (token < 0 || $ended)\n"
           "        break;\n"
           "    printf(k ? \" %d\" : \"%d\", token);\n"
           "    if (end < MAX_TARGET)\n"
           "        tokens[end++] = token;\n"
           "}\n"
           "}\n\n");
}

/* Emits main(). The weights are embedded, or in the file that its argument
 * names. */
static void put_plain_main(Plain *p, Emit *e)
{
    const bool outside = p->g.p->block.n && !p->g.o->embed;
    if (!outside) {
        put(e, "int main(void)\n"
               "{\n"
               "    static struct state s;\n"
               "\n");
        put(e, p->g.o->embed ? "return answer(&inside.weights, &s);\n"
                             : "return answer(NULL, &s);\n");
        put(e, "}\n");
        return;
    }
    put(e,
        "int main(int argc, char **argv)\n"
        "{\n"
        "    struct weights *w = malloc(sizeof *w);\n"
        "    struct state *s = malloc(sizeof *s);\n"
        "    FILE *file = argc == 2 ? fopen(argv[1], \"rb\") : NULL;\n"
        "    int status = 4;\n"
        "\n"
        "    if (!w || !s)\n"
        "        fprintf(stderr, \"out of memory\\n\");\n"
        "    else if (argc != 2)\n"
        "        fprintf(stderr, \"usage: %s WEIGHTS < lines\\n\", argv[0]);\n"
        "    else if (!file)\n"
        "        fprintf(stderr, \"%s: cannot be opened\\n\", argv[1]);\n"
        "    else if (!$read(w, file))\n"
        "        fprintf(stderr, \"%s: not this model's weights: write \"\n"
        "                \"them by attnc compile --plain\\n\", argv[1]);\n"
        "    else\n"
        "        status = answer(w, s);\n"
        "    if (file)\n"
        "        fclose(file);\n"
        "    free(w);\n"
        "    free(s);\n"
        "    return status;\n"
        "}\n");
}

static void put_program(Plain *p, Emit *e)
{
    const bool ids = !plain_reads(p, BatchInput);
    let_entries(p, e);
    if (p->g.p->g->spec->kind == KindAttention) {
        put_attention(p, e);
        put_plain_main(p, e);
        return;
    }
    if (ids)
        put_read_ids(e);
    else
        put_read_rows(e);
    if (has_decoder(p->g.p))
        put_plain_generate(p, e);
    else
        put_print_rows(e);
    if (ids)
        put_answer_lines(p, e);
    else
        put_answer_rows(p, e);
    put_plain_main(p, e);
}

void emit_plain_program(Plain *p, Emit *e)
{
    const EmitOptions *o = p->g.o;
    const int mark = emit_mark(e);
    if (o->embed)
        emit_literal(p, e);
    else if (p->g.p->block.n && !o->freestanding)
        emit_weights_file(p, e);
    if (o->freestanding)
        return;
    put(e, "#ifdef ATTNC_MAIN\n"
           "\n");
    put_program(p, e);
    put(e, "#endif\n");
    emit_reset(e, mark);
}
