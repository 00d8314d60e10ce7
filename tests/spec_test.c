/* spec_test.c: specs that load, specs that do not and what is said of each,
 * defaults, overriding, names of weights, and text made to do harm.         */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../compiler/fields.h"

#include <cmocka.h>

static const char folder[] = "tests/spec/";

/* ------------------------------------------------------ what was said --- */
static FILE *said;               /* stands in for stderr */
static int real_stderr;

static void listen(void)
{
    said = tmpfile();
    assert_non_null(said);
    fflush(stderr);
    real_stderr = dup(STDERR_FILENO);
    dup2(fileno(said), STDERR_FILENO);
}

static char *heard(Arena *a)
{
    fflush(stderr);
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    long n = ftell(said);
    fseek(said, 0, SEEK_END);
    n = ftell(said);
    rewind(said);
    char *text = arena_alloc(a, (size_t)n + 1);
    assert_int_equal(fread(text, 1, (size_t)n, said), n);
    fclose(said);
    return text;
}

static char *read_text(Arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = arena_alloc(a, 1 << 18);

    if (f) {
        assert_true(fread(text, 1, (1 << 18) - 1, f) < (1 << 18) - 1);
        fclose(f);
    }
    return text;
}

static Spec *load(Arena *a, const char *path, const char *set, char **text)
{
    error_reset();
    listen();
    Spec *s = spec_load(a, path, &set, set != NULL);
    *text = heard(a);
    return s;
}

static Spec *load_good(Arena *a, const char *path, const char *set)
{
    char *text;
    Spec *s = load(a, path, set, &text);

    assert_string_equal(text, "");
    assert_non_null(s);
    return s;
}

/* ------------------------------------------------------------ goldens --- */
static bool golden(const char *name)
{
    Arena *a = arena_new();
    char *path = arena_printf(a, "%s%s.yaml", folder, name), *text;
    char *expected = arena_printf(a, "%s%s.err", folder, name);
    Spec *s = load(a, path, NULL, &text);
    bool same = !strcmp(text, read_text(a, expected));

    if (getenv("ATTNC_REWRITE")) {
        FILE *f = fopen(expected, "wb");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
        same = true;
    }
    if (!same)
        print_error("%s is not what was said:\n%s", expected, text);
    if ((s == NULL) != (*text != '\0')) {
        print_error("%s: loaded with errors, or not without\n", path);
        same = false;
    }
    arena_free(a);
    return same;
}

static void every_golden(void **state)
{
    DIR *d = opendir(folder);
    int cases = 0, failed = 0;

    (void)state;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)); ) {
        char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".yaml"))
            continue;
        *dot = '\0';
        cases++;
        failed += !golden(e->d_name);
    }
    closedir(d);
    assert_true(cases > 50);
    assert_int_equal(failed, 0);
}

/* ------------------------------------------------------------- values --- */
static void defaults(void **state)
{
    Arena *a = arena_new();
    Spec *s = load_good(a, "tests/spec/good.yaml", NULL);

    (void)state;
    assert_int_equal(s->d_k, 8);
    assert_int_equal(s->d_v, 8);
    assert_int_equal(s->N_encoder, 1);
    assert_int_equal(s->max_target, 8);
    assert_true(s->vocab_shared);
    assert_int_equal(s->target.size, 12);
    assert_int_equal(s->token_pad, -1);
    assert_int_equal(s->token_unknown_target, -1);
    assert_true(s->append_end);
    assert_int_equal(s->mask_encoder, MaskNone);
    assert_int_equal(s->mask_decoder, MaskCausal);
    assert_int_equal(s->positions, PosSinusoidal);
    assert_true(s->pos_base == 10000.0);
    assert_int_equal(s->norm_place, PlacePost);
    assert_true(s->norm_eps == 1.0e-6);
    assert_false(s->norm_final);
    assert_int_equal(s->activation, ActRelu);
    assert_true(s->bias_q && s->bias_k && s->bias_v && s->bias_o);
    assert_true(s->bias_ffn && !s->bias_logits);
    assert_true(s->has_q && s->has_k && s->has_v && s->has_o);
    assert_int_equal(s->embed_scale, EmbedScaleSqrt);
    assert_int_equal(s->embed_tie, 0);
    assert_int_equal(s->search_rule, SearchExact);
    assert_int_equal(s->search_beam, 4);
    assert_true(s->search_alpha == 0.6);
    assert_int_equal(s->max_output, -1);
    assert_int_equal(s->max_output_plus, 50);
    assert_null(s->weights);
    arena_free(a);
}

/* A value as text, after an option was set. */
static void expect(const char *set, const char *key, const char *value)
{
    Arena *a = arena_new();
    Spec *s = load_good(a, "tests/spec/good.yaml", set);

    assert_string_equal(field_text(a, &fields[field_row(key)], s), value);
    arena_free(a);
}

static void options(void **state)
{
    (void)state;
    expect("h=4", "d_k", "4");
    expect("h=4,d_k=32", "d_k", "32");
    expect("h=4,d_k=32", "d_v", "4");
    expect("N=3", "N.decoder", "3");
    expect("N.decoder=3", "N.encoder", "1");
    expect("N={encoder: 2}", "N.encoder", "2");
    expect("N={encoder: 2},h=1", "h", "1");
    expect("embedding.tie=[target,logits]", "embedding.tie", "6");
    expect("embedding.tie=[target,logits],dtype=f32", "embedding.tie", "6");
    expect("norm.place=pre", "norm.final", "true");
    expect("norm={place: pre, final: false}", "norm.final", "false");
    expect("positions=learned", "positions.type", "learned");
    expect("bias=false", "bias.ffn", "false");
    expect("bias.logits=true", "bias.logits", "true");
    expect("search.penalty=power", "search.alpha", "1");
    expect("search.max_output=7", "search.max_output.tokens", "7");
    expect("search.max_output=7", "search.max_output.plus", "-1");
    expect("search.max_output={plus: 7}", "search.max_output.plus", "7");
    expect("vocab.tokens.unknown=3", "vocab.tokens.unknown.target", "3");
    expect("vocab.split=characters", "vocab.split.source", "characters");
    expect("weights=\"a, b\"", "weights", "a, b");
    expect("kind=encoder", "N.decoder", "0");
    expect("kind=decoder", "vocab.source.size", "0");
}

static void wrong_option(const char *set, const char *said_of_it)
{
    Arena *a = arena_new();
    char *text;

    assert_null(load(a, "tests/spec/good.yaml", set, &text));
    assert_string_equal(text, said_of_it);
    arena_free(a);
}

static void wrong_options(void **state)
{
    (void)state;
    wrong_option("d_modle=3",
        "--set:1:1: error: unknown key 'd_modle'\n"
        "    d_modle=3\n    ^\n"
        "attnc: note: did you mean 'd_model'?\n");
    wrong_option("h=4,h",
        "--set:1:3: error: h must be an integer from 1 to 1024, found '4,h'\n"
        "    h=4,h\n      ^\n"
        "attnc: note: integers are written as 512: digits only, no leading "
        "zero\n");
    wrong_option("h",
        "--set:1:1: error: expected key.path=value\n    h\n    ^\n");
    wrong_option("=4",
        "--set:1:1: error: expected key.path=value\n    =4\n    ^\n");
    wrong_option("h=",
        "--set:1:1: error: nothing is written here\n    h=\n    ^\n");
    wrong_option("extends=a.yaml",
        "--set:1:1: error: extends can only be written in a file\n"
        "    extends=a.yaml\n    ^\n");
    wrong_option("norm={place: before}",
        "--set:1:14: error: norm.place must be one of post, pre, found "
        "'before'\n    norm={place: before}\n                 ^\n");
}

/* ------------------------------------------------------------ extends --- */
static void extends_key_by_key(void **state)
{
    Arena *a = arena_new();
    Spec *base = load_good(a, "models/transformer-base.yaml", NULL);
    Spec *big = load_good(a, "models/transformer-big.yaml", NULL);
    Spec *e = load_good(a, "models/table3/e.yaml", NULL);
    Spec *parsing = load_good(a, "models/transformer-parsing.yaml", NULL);

    (void)state;
    assert_string_equal(big->name, "transformer-big");
    assert_int_equal(big->d_model, 1024);
    assert_int_equal(big->N_decoder, 6);
    assert_int_equal(big->embed_tie, TieSource | TieTarget | TieLogits);
    assert_int_equal(e->positions, PosLearned);
    assert_int_equal(parsing->target.size, 16000);
    assert_int_equal(parsing->search_beam, 21);
    assert_int_equal(parsing->max_output_plus, 300);
    assert_int_equal(parsing->search_penalty, PenaltyGnmt);
    assert_string_equal(spec_pos(big, "d_ff").src->name,
                        "models/transformer-big.yaml");
    assert_string_equal(spec_pos(big, "N.encoder").src->name,
                        "models/transformer-base.yaml");
    assert_int_equal(spec_pos(base, "d_model").line, 8);
    assert_int_equal(spec_pos(base, "d_model").col, 10);
    arena_free(a);
}

static const char *const models[] = {
    "attention", "tiny", "transformer-base", "transformer-big",
    "transformer-en-fr", "transformer-parsing", "aren-transliteration",
    "g2p-en/g2p-en", "table3/a-h1", "table3/a-h4", "table3/a-h16",
    "table3/a-h32", "table3/b-dk16", "table3/b-dk32", "table3/c-n2",
    "table3/c-n4", "table3/c-n8", "table3/c-d256", "table3/c-d1024",
    "table3/c-ff1024", "table3/c-ff4096", "table3/e"
};
enum { Models = sizeof models / sizeof *models };

static void every_model(void **state)
{
    Arena *a = arena_new();
    uint64_t hash[Models];

    (void)state;
    for (int i = 0; i < Models; i++) {
        char *path = arena_printf(a, "models/%s.yaml", models[i]);
        Spec *s = load_good(a, path, NULL);
        hash[i] = s->hash;
        assert_true(load_good(a, path, NULL)->hash == hash[i]);
        for (int j = 0; j < i; j++)
            assert_true(hash[i] != hash[j]);
    }
    arena_free(a);
}

/* What is computed decides, not how it is written. */
static void hash_of_meaning(void **state)
{
    Arena *a = arena_new();
    const char *path = "tests/spec/good.yaml";
    uint64_t hash = load_good(a, path, NULL)->hash;

    (void)state;
    assert_true(load_good(a, path, "d_k=8,norm.eps=0.000001")->hash == hash);
    assert_true(load_good(a, path, "N={encoder: 1, decoder: 1}")->hash ==
                hash);
    assert_true(load_good(a, path, "norm.eps=0.000002")->hash != hash);
    assert_true(load_good(a, path, "names.source=x")->hash != hash);
    arena_free(a);
}

/* -------------------------------------------------------------- limits --- */
static bool in_range(const Field *f, uint64_t value)
{
    return (double)value >= f->least && (double)value <= f->most;
}

/* True when what was said is about this value's range. */
static bool refused(const Field *f, const char *number)
{
    Arena *a = arena_new();
    char *text, *wants = field_wants(a, f);

    load(a, f->kinds & Seq2seq ? "tests/spec/good.yaml"
                               : "models/attention.yaml",
         arena_printf(a, "%s=%s", f->key, number), &text);
    bool found = strstr(text, arena_printf(a, "%s must be %s, found '%s'",
                                           f->key, wants, number));
    arena_free(a);
    return found;
}

static void boundary(const Field *f, uint64_t value)
{
    char number[32];

    snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    if (refused(f, number) == in_range(f, value))
        print_error("%s=%s\n", f->key, number);
    assert_true(refused(f, number) != in_range(f, value));
}

static void every_boundary(void **state)
{
    (void)state;
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        if (f->type != FieldInt)
            continue;
        assert_true(refused(f, "-1"));
        boundary(f, (uint64_t)f->least);
        boundary(f, (uint64_t)f->most);
        boundary(f, (uint64_t)f->most + 1);
        for (int bit = 0; bit < 64; bit += bit < 30 ? 6 : 1) {
            boundary(f, (uint64_t)1 << bit);
            boundary(f, ((uint64_t)1 << bit) - 1);
        }
        assert_true(refused(f, "18446744073709551616"));
        assert_true(refused(f, "99999999999999999999999999999999"));
    }
}

/* ------------------------------------------------------- hostile text --- */
static char *repeat(Arena *a, const char *part, size_t bytes)
{
    size_t n = strlen(part);
    char *text = arena_alloc(a, bytes + n + 1);

    for (size_t at = 0; at < bytes; at += n)
        memcpy(text + at, part, n);
    text[bytes] = '\0';
    return text;
}

static void refuse_text(const char *part, size_t bytes, const char *why)
{
    Arena *a = arena_new();
    Source src = { "hostile", repeat(a, part, bytes), bytes, 0 };

    error_reset();
    listen();
    Yaml *tree = yaml_parse(a, &src, 0);
    char *text = heard(a);
    if (!strstr(text, why))
        print_error("%s", text);
    assert_non_null(strstr(text, why));
    assert_null(tree);
    assert_int_equal(error_count(), 1);
    arena_free(a);
}

static void hostile_text(void **state)
{
    const size_t most = 1 << 20;

    (void)state;
    refuse_text("[", 40000, "nested more than 32 deep");
    refuse_text("[", most, "nested more than 32 deep");
    refuse_text("{", most, "nested more than 32 deep");
    refuse_text("[\n", 40000, "nested more than 32 deep");
    refuse_text("- ", most, "nested more than 32 deep");
    refuse_text("? ", most, "nested more than 32 deep");
    refuse_text("- 1\n", 600000, "more than 100000 parts");
    refuse_text("- 1\n", most + 1, "at most 1048576 are allowed");
    refuse_text("&a ", most, "");
    refuse_text("'", most - 1, "");
    refuse_text("\xc3", most, "is not UTF-8");
    refuse_text("\xf4\x90\x80\x80", 4, "is not UTF-8");
    refuse_text("\xe0\x80\xaf", 3, "is not UTF-8");
}

static void many_keys(void **state)
{
    Arena *a = arena_new();
    VEC(char) text = { 0 };

    (void)state;
    for (int i = 0; i < 1001; i++)
        for (const char *s = arena_printf(a, "k%d: 1\n", i); *s; s++)
            vec_push(a, &text, *s);
    Source src = { "keys", text.at, (size_t)text.n, 0 };
    error_reset();
    listen();
    assert_null(yaml_parse(a, &src, 0));
    assert_non_null(strstr(heard(a), "keys:1001:1: error: a map has more"));
    arena_free(a);
}

/* Every beginning of a real spec, and every byte of it changed. */
static void broken_specs(void **state)
{
    Arena *a = arena_new();
    char *text = read_text(a, "models/aren-transliteration.yaml");
    size_t n = strlen(text);

    (void)state;
    listen();
    for (size_t i = 0; i < n; i++) {
        Arena *one = arena_new();
        Source cut = { "cut", text, i, 0 };
        yaml_parse(one, &cut, 0);
        char *changed = arena_strndup(one, text, n);
        changed[i] = (char)(changed[i] ^ (1 << i % 8));
        Source src = { "changed", changed, n, 0 };
        yaml_parse(one, &src, 0);
        arena_free(one);
    }
    heard(a);
    error_reset();
    arena_free(a);
}

/* The exit code of a process that loads `path`. */
static int exit_code(const char *path)
{
    static Arena *a;             /* found by leak checkers when fail() exits */

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        a = arena_new();
        if (!freopen("/dev/null", "w", stderr))
            _exit(99);
        bool done = spec_load(a, path, NULL, 0) != NULL;
        arena_free(a);
        _exit(done ? ExitDone : ExitInput);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void files_that_are_none(void **state)
{
    (void)state;
    assert_int_equal(exit_code("tests/spec/good.yaml"), ExitDone);
    assert_int_equal(exit_code("tests/spec/yaml-tag.yaml"), ExitInput);
    assert_int_equal(exit_code("tests/spec/no-such.yaml"), ExitIO);
    assert_int_not_equal(exit_code("tests/spec"), ExitDone);
    assert_int_not_equal(exit_code("/dev/zero"), ExitDone);
    assert_int_not_equal(exit_code(""), ExitDone);
}

static void paths(void **state)
{
    Arena *a = arena_new();
    Source file = { "models/a.yaml", "", 0, 0 }, set = { "--set", "", 0, 1 };
    Pos in_file = { &file, 1, 1 }, in_set = { &set, 1, 1 };

    (void)state;
    assert_string_equal(spec_path(a, in_file, "w.st"), "models/w.st");
    assert_string_equal(spec_path(a, in_file, "../w.st"), "models/../w.st");
    assert_string_equal(spec_path(a, in_file, "/w.st"), "/w.st");
    assert_string_equal(spec_path(a, in_file, "-o"), "models/-o");
    assert_string_equal(spec_path(a, in_set, "w.st"), "w.st");
    assert_string_equal(spec_path(a, in_set, "-o"), "./-o");
    assert_string_equal(spec_path(a, in_set, "@x"), "./@x");
    arena_free(a);
}

/* --------------------------------------------------------------- names --- */
static void expect_name(const Spec *s, const char *ours, const char *theirs)
{
    Arena *a = arena_new();
    assert_string_equal(spec_file_name(a, s, ours), theirs);
    arena_free(a);
}

static void names(void **state)
{
    Arena *a = arena_new();
    Spec *base = load_good(a, "tests/spec/good.yaml", NULL);
    Spec *s = load_good(a, "models/aren-transliteration.yaml", NULL);

    (void)state;
    expect_name(base, "encoder.0.norm1.bias", "encoder.0.norm1.bias");
    expect_name(s, "source.weight", "encoder.embed_tokens.weight");
    expect_name(s, "logits.bias", "lm_head.bias");
    expect_name(s, "encoder.norm.weight", "encoder.layer_norm.weight");
    expect_name(s, "encoder.11.self_attn.q.weight",
                "encoder.layers.11.self_attn.q_proj.weight");
    expect_name(s, "decoder.3.norm3.bias",
                "decoder.layers.3.encoder_attn_layer_norm.bias");
    expect_name(s, "source_positions.weight", "source_positions.weight");
    s = load_good(a, "tests/spec/good.yaml",
                  "names={\"encoder.{i}\": \"e.{i}.x\", encoder.1: one, "
                  "\"encoder.{i}.ffn\": \"{i}f\"}");
    expect_name(s, "encoder.0.norm1.bias", "e.0.x.norm1.bias");
    expect_name(s, "encoder.1.norm1.bias", "one.norm1.bias");
    expect_name(s, "encoder.1.ffn.w1.bias", "1f.w1.bias");
    expect_name(s, "encoder.12.ffn.w1.bias", "12f.w1.bias");
    expect_name(s, "encoder.norm.bias", "encoder.norm.bias");
    arena_free(a);
}

/* ---------------------------------------------------------------- docs --- */
static void reference_is_the_table(void **state)
{
    Arena *a = arena_new();
    FILE *out = tmpfile();
    char *text = arena_alloc(a, 1 << 18);

    (void)state;
    assert_non_null(out);
    spec_print_fields(out, true);
    rewind(out);
    assert_true(fread(text, 1, (1 << 18) - 1, out) > 1000);
    fclose(out);
    if (getenv("ATTNC_REWRITE")) {
        out = fopen("docs/spec.md", "wb");
        assert_non_null(out);
        fputs(text, out);
        fclose(out);
    }
    assert_string_equal(text, read_text(a, "docs/spec.md"));
    arena_free(a);
}

static void every_preset_is_valid(void **state)
{
    Arena *a = arena_new();
    Spec s = { .field_pos = arena_alloc(a, (size_t)n_fields * sizeof(Pos)) };

    (void)state;
    error_reset();
    for (int i = 0; i < n_fields; i++) {
        assert_int_equal(field_find(fields[i].key), i);
        for (int j = 0; fields[i].type == FieldSpread && fields[i].words[j];
             j++)
            assert_true(field_find(fields[i].words[j]) >= 0);
        if (!fields[i].follow)
            field_default(a, &fields[i], &s);
    }
    assert_int_equal(error_count(), 0);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_golden),
        cmocka_unit_test(defaults),
        cmocka_unit_test(options),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(extends_key_by_key),
        cmocka_unit_test(every_model),
        cmocka_unit_test(hash_of_meaning),
        cmocka_unit_test(every_boundary),
        cmocka_unit_test(hostile_text),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(broken_specs),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(paths),
        cmocka_unit_test(names),
        cmocka_unit_test(reference_is_the_table),
        cmocka_unit_test(every_preset_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
