/* spec_test.c: tests valid specs, and how reading of invalid ones ends;
 * extending, paths, the weight map. The messages are in tests/spec. */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>

#include "support/load_spec.h"

/* ---- extends ---- */
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
    assert_int_equal(big->side[SideDecoder].N, 6);
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

/* clang-format off */
static const char *const models[] = {
    "attention", "tiny", "transformer-base", "transformer-big",
    "transformer-en-fr", "transformer-parsing", "aren-transliteration",
    "g2p-en/g2p-en", "table3/a-h1", "table3/a-h4", "table3/a-h16",
    "table3/a-h32", "table3/b-dk16", "table3/b-dk32", "table3/c-n2",
    "table3/c-n4", "table3/c-n8", "table3/c-d256", "table3/c-d1024",
    "table3/c-ff1024", "table3/c-ff4096", "table3/e", "stories260K",
    "llama-110m", "gpt-nano-sort", "gpt2-small", "minilm", "t5-small"
};
/* clang-format on */
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

/* Tests that the hash depends on the meaning, not on how it is written. */
static void hash_of_meaning(void **state)
{
    Arena *a = arena_new();
    const char *path = "tests/spec/good.yaml";
    uint64_t hash = load_good(a, path, NULL)->hash;

    (void)state;
    assert_true(load_good(a, path, "d_k=8,norm.eps=0.000001")->hash == hash);
    assert_true(load_good(a, path, "N={encoder: 1, decoder: 1}")->hash == hash);
    assert_true(load_good(a, path, "norm.eps=0.000002")->hash != hash);
    assert_true(load_good(a, path, "names.source=x")->hash != hash);
    arena_free(a);
}

/* Returns the exit code of a process that loads `path`. */
static int exit_code(const char *path)
{
    static Arena *a; /* reported by leak checkers when fail() exits */

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

/* ---- names ---- */
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
                  "N=2,names={\"encoder.{i}\": \"e.{i}.x\", encoder.1: one, "
                  "\"encoder.{i}.ffn\": \"{i}f\"}");
    expect_name(s, "encoder.0.norm1.bias", "e.0.x.norm1.bias");
    expect_name(s, "encoder.1.norm1.bias", "one.norm1.bias");
    expect_name(s, "encoder.1.ffn.w1.bias", "1f.w1.bias");
    expect_name(s, "encoder.12.ffn.w1.bias", "12f.w1.bias");
    expect_name(s, "encoder.norm.bias", "encoder.norm.bias");
    arena_free(a);
}

static FileTensor share(const Spec *s, const char *ours)
{
    Arena *a = arena_new();
    static char name[64];
    FileTensor t;

    assert_true(spec_file_tensor(a, s, ours, &t));
    snprintf(name, sizeof name, "%s", t.name ? t.name : "");
    t.name = t.name ? name : NULL;
    arena_free(a);
    return t;
}

static void expect_share(const Spec *s, const char *ours, const char *theirs,
                         int64_t groups, int64_t first, int64_t take,
                         int64_t stride)
{
    FileTensor t = share(s, ours);

    assert_string_equal(t.name, theirs);
    assert_int_equal(t.groups, groups);
    assert_int_equal(t.first, first);
    assert_int_equal(t.take, take);
    assert_int_equal(t.stride, stride);
    assert_int_equal(t.total, groups * stride);
}

/* d_model 16; 4 heads of 4 in the encoder, 2 of them for keys and values. */
static void shared_tensors(void **state)
{
    Arena *a = arena_new();
    Spec *s = load_good(a, "tests/spec/names-share.yaml", "h=4,h_kv=2");

    (void)state;
    expect_share(s, "encoder.0.self_attn.q.weight", "e.0.qkv.weight", 1, 0, 16,
                 32);
    expect_share(s, "encoder.3.self_attn.k.bias", "e.3.qkv.bias", 1, 16, 8, 32);
    expect_share(s, "encoder.0.self_attn.v.weight", "e.0.qkv.weight", 1, 24, 8,
                 32);
    expect_share(s, "decoder.1.self_attn.q.weight", "d.1.qkv.weight", 2, 0, 8,
                 16);
    expect_share(s, "decoder.1.self_attn.k.weight", "d.1.qkv.weight", 2, 8, 4,
                 16);
    expect_share(s, "decoder.1.self_attn.v.bias", "d.1.qkv.bias", 2, 12, 4, 16);
    expect_share(s, "decoder.0.cross_attn.v.weight", "d.0.kv.weight", 1, 16, 16,
                 32);
    expect_share(s, "encoder.0.ffn.w1.weight", "encoder.0.ffn.w1.weight", 0, 0,
                 0, 0);
    assert_true(share(s, "decoder.0.cross_attn.v.weight").by_columns);
    assert_true(share(s, "encoder.0.self_attn.q.weight").transposed);
    assert_false(share(s, "encoder.0.self_attn.q.bias").transposed);
    assert_false(share(s, "encoder.0.ffn.w1.weight").transposed);
    assert_true(share(s, "decoder.0.ffn.w1.weight").transposed);
    assert_null(share(s, "encoder.0.ffn.w1.bias").name);
    assert_true(share(s, "encoder.0.ffn.w1.bias").fill == 0);
    arena_free(a);
}

static void masks_of_files(void **state)
{
    static const unsigned char cells[16] = { 1, 0, 0, 0, 1, 1, 0, 0,
                                             1, 1, 1, 0, 0, 0, 0, 0 };
    Arena *a = arena_new();
    Spec *s = load_good(a, "tests/spec/mask-file-good.yaml", NULL);
    const MaskSpec *m = &s->side[SideDecoder].mask;

    (void)state;
    assert_int_equal(m->file_rows, 4);
    assert_int_equal(m->file_columns, 4);
    assert_true(m->causal && !s->side[SideEncoder].mask.causal);
    assert_memory_equal(m->file, cells, sizeof cells);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extends_key_by_key),
        cmocka_unit_test(every_model),
        cmocka_unit_test(hash_of_meaning),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(paths),
        cmocka_unit_test(names),
        cmocka_unit_test(shared_tensors),
        cmocka_unit_test(masks_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
