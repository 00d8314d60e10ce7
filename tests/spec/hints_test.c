/* hints_test.c: tests that someone who types another tool's config.json as a
 * spec gets a working one by following the messages alone: the test does that
 * line by line, and the result is a model of models/. */
#define _GNU_SOURCE
#include "spec/values/hints.h"
#include "support/load_spec.h"
#include "support/scratch.h"

enum { MostLines = 100, MostRounds = 4 };

typedef struct {
    char *line[MostLines]; /* NULL: left out */
    int n;
    const char *more; /* lines for missing fields */
    bool json;
} Text;

static Arena *a;

static int set_up(void **state)
{
    (void)state;
    a = arena_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

/* ---- lines ---- */
static Text split(const char *text)
{
    Text t = { .more = "", .json = *text == '{' };

    while (*text) {
        const size_t n = strcspn(text, "\n");
        assert_true(t.n < MostLines);
        t.line[t.n++] = arena_strndup(a, text, n);
        text += n + (text[n] == '\n');
    }
    return t;
}

static const char *joined(const Text *t)
{
    const char *text = t->json ? "" : t->more;

    for (int i = 0; i < t->n; i++)
        if (t->line[i])
            text = arena_printf(a, "%s%s\n%s", text, t->line[i],
                                t->json && i == 0 ? t->more : "");
    return text;
}

static size_t indent(const char *line)
{
    return strspn(line, " ");
}

/* Removes the line, the more indented lines below it, and the bracket that
 * closes it. */
static void remove_line(Text *t, int i)
{
    const size_t depth = indent(t->line[i]);

    t->line[i++] = NULL;
    while (i < t->n && t->line[i] && indent(t->line[i]) > depth)
        t->line[i++] = NULL;
    if (i < t->n && t->line[i] && indent(t->line[i]) == depth
        && strchr("]}", t->line[i][depth]) && depth > 0)
        t->line[i] = NULL;
}

/* Returns all texts quoted in `..`, one per line. */
static const char *quoted_lines(const Text *t, const char *note)
{
    const char *text = NULL;

    for (const char *at = strchr(note, '`'); at; at = strchr(at, '`')) {
        const size_t n = strcspn(at + 1, "`");
        text = arena_printf(a, "%s%s%.*s%s", text ? text : "", text ? "\n" : "",
                            (int)n, at + 1, t->json ? "," : "");
        at += n + 2;
    }
    assert_non_null(text);
    return text;
}

/* ---- hints ---- */

/* Follows the advice of one message. */
static void obey(Text *t, const char *error, const char *note)
{
    const char *place = strstr(error, ".yaml:");
    assert_non_null(place);
    const int line = atoi(place + 6) - 1;

    if (strstr(note, "did you mean `")) {
        const char *text = quoted_lines(t, note);
        remove_line(t, line);
        t->line[line] = arena_strdup(a, text);
    } else if (strstr(note, "leave it out") || strstr(note, "leave them out")) {
        remove_line(t, line);
        for (const char *at = error; (at = strstr(at, "(line ")); at++)
            remove_line(t, atoi(at + 6) - 1);
    } else if (strstr(note, "note: write `")) {
        const char *text = strtok(arena_strdup(a, note), ",;");
        t->more = arena_printf(a, "%s%s\n", t->more, quoted_lines(t, text));
    } else {
        fail_msg("no hint: %s: %s", error, note);
    }
}

static void obey_all(Text *t, char *said)
{
    const char *error = NULL;

    for (char *line = strtok(said, "\n"); line;) {
        char *next = line + strlen(line) + 1;
        if (strstr(line, ": error: "))
            error = line;
        else if (strstr(line, "more errors follow"))
            error = NULL;
        else if (strstr(line, "note: ") && error)
            obey(t, error, line);
        line = strtok(next, "\n");
    }
}

static const Spec *follow(const char *name, int *rounds)
{
    const char *text = read_text(a, arena_printf(a, "tests/spec/hints-%s.yaml",
                                                 name));
    assert_true(*text);
    for (*rounds = 0; *rounds < MostRounds; ++*rounds) {
        Text t = split(text);
        char *said;
        const char *path = scratch_file("model.yaml", text, strlen(text));
        const Spec *s = load(a, path, NULL, &said);
        if (s) {
            assert_string_equal(said, "");
            return s;
        }
        obey_all(&t, said);
        text = joined(&t);
    }
    fail_msg("%s: no spec yet:\n%s", name, text);
    return NULL;
}

/* ---- compare ---- */
static bool left_open(const char *key) /* not stated in a config.json */
{
    return !strcmp(key, "name") || field_below(key, "search")
        || field_below(key, "vocab.tokens.unknown");
}

static void assert_same(const Spec *found, const Spec *wanted)
{
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        if (f->type >= FieldNoValue || left_open(f->key)
            || !(f->kinds & 1u << wanted->kind))
            continue;
        const char *text = field_text(a, f, found);
        if (strcmp(text, field_text(a, f, wanted)))
            fail_msg("%s is %s, not %s", f->key, text,
                     field_text(a, f, wanted));
    }
}

static const struct {
    const char *name, *same_as, *set;
    int rounds;
} configs[] = {
    { "bert", "models/minilm.yaml",
      "d_model=768,d_ff=3072,N=12,vocab.tokens.end=,head=default,names=", 1 },
    { "gpt2", "models/gpt2-small.yaml", NULL, 1 },
    { "llama", "models/llama-110m.yaml",
      "d_model=2048,h=32,h_kv=4,d_ff=5632,N=22,max_len=2048,"
      "vocab.tokens.start=1,embedding.tie=,dtype=bf16",
      2 },
    { "t5", "models/t5-small.yaml", NULL, 1 },
};

static void hints_lead_to_a_spec(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        int rounds;
        const Spec *found = follow(configs[i].name, &rounds);
        const Spec *wanted = load_good(a, configs[i].same_as, configs[i].set);
        assert_int_equal(rounds, configs[i].rounds);
        assert_same(found, wanted);
    }
}

/* Keys that users of other tools write. */
static const char *const known_keys[] = {
    "heads",
    "n_heads",
    "num_heads",
    "nhead",
    "n_layers",
    "num_layers",
    "depth",
    "hidden",
    "hidden_size",
    "dim",
    "width",
    "n_embd",
    "ffn",
    "mlp",
    "dim_feedforward",
    "intermediate_size",
    "mlp_ratio",
    "seq_len",
    "context",
    "n_ctx",
    "max_position_embeddings",
    "block_size",
    "rope",
    "rmsnorm",
    "vocab_size",
    "n_vocab",
    "kv_heads",
    "n_kv_head",
    "causal",
    "dropout",
    "attention_dropout",
    "initializer_range",
    "pre_norm",
    "norm_first",
    "tie_weights",
    "architecture",
    "model_type",
};
static const char *const known_values[][3] = {
    { "activation", "GELU", "gelu" },    { "activation", "ReLU", "relu" },
    { "activation", "SiLU", "silu" },    { "activation", "swish", "silu" },
    { "positions", "rope", "rotary" },   { "norm", "rmsnorm", "rms" },
    { "kind", "gpt", "decoder" },        { "kind", "bert", "encoder" },
    { "kind", "t5", "encoder-decoder" },
};

static void words_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known_keys / sizeof *known_keys; i++)
        if (!hint_find(known_keys[i]))
            fail_msg("%s has no hint", known_keys[i]);
    for (size_t i = 0; i < sizeof known_values / sizeof *known_values; i++)
        assert_string_equal(hint_word(known_values[i][0], known_values[i][1]),
                            known_values[i][2]);
}

/* Tests that every key in the tables is one of ours, and every value valid. */
static void tables_name_fields(void **state)
{
    (void)state;
    for (int i = 0; i < n_hints; i++)
        for (const char *at = hints[i].ours ? hints[i].ours : ""; *at;) {
            const size_t n = strcspn(at, " :");
            assert_true(field_find(arena_strndup(a, at, n)) >= 0);
            at += at[n] == ':' ? strlen(at) : n;
            at += strspn(at, " ");
        }
    for (int i = 0; i < n_word_hints; i++)
        assert_true(field_find(word_hints[i].field) >= 0);
}

/* Tests that a key for both sides does not change a side that has its own key.
 */
static void longer_paths_win(void **state)
{
    (void)state;
    const Spec *s = load_good(a, "tests/spec/key-path.yaml", NULL);
    assert_int_equal(s->side[SideEncoder].N, 2);
    assert_int_equal(s->side[SideDecoder].N, 3);
    assert_int_equal(s->norm_place, PlacePre);
    assert_true(s->norm_eps == 1e-5);
}

static void options_have_hints(void **state)
{
    (void)state;
    char *said;
    assert_null(load(a, "tests/spec/good.yaml", "n_layers=3", &said));
    assert_string_equal(said, "--set:1:1: error: unknown key 'n_layers'\n"
                              "    n_layers=3\n"
                              "    ^\n"
                              "attnc: note: did you mean `N=3`?\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_lead_to_a_spec),
        cmocka_unit_test(words_are_known),
        cmocka_unit_test(tables_name_fields),
        cmocka_unit_test(longer_paths_win),
        cmocka_unit_test(options_have_hints),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
