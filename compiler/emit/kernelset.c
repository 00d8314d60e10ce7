/* kernelset.c: build-time program. `kernelset x86-64-v3` prints the C file of
 * the kernels that a JIT skeleton may call on that machine: every piece and
 * every tile, with a table by name.                                         */
#include "emit/kernels.h"

/* What emitters may ask for; pieces that only others need are not here. */
/* clang-format off */
static const char *const pieces[] = {
    "add_norm_rows", "add_rms_norm_rows", "add_rows",
    "ask_keys",      "bias_rows",         "copy_rows",
    "embed_row",     "embed_row_bf16",    "head_norm_rows",
    "l2_norm_rows",  "log_sum_exp",       "mask_row",
    "mul_rows",      "norm_rows",         "pack_keys",
    "pack_values",   "pool_max",          "pool_mean",
    "rms_norm_rows", "rotate_row_halves", "rotate_row_interleaved",
    "scale_rows",    "score_bias_row",    "softcap_rows",
    "softmax_begin", "softmax_chunk",     "softmax_end",
    "softmax_page",  "softmax_row",
};
/* clang-format on */
/* Every tile that a tiling can have, and so every remainder of one. */
static void use_all(Arena *a, Kernels *k, const Target *t)
{
    TileKey key = { .dtype = DtypeF32, .width = t->width };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        use_kernel(k, pieces[i]);
    for (int act = 0; act < ActCount; act++)
        if (act_kernel[act]) {
            use_kernel(k, arena_printf(a, "activate_rows_%s", act_kernel[act]));
            use_kernel(k, arena_printf(a, "gate_rows_%s", act_kernel[act]));
        }
    for (key.mr = 1; key.mr <= 16; key.mr++)
        for (key.nr = 16; key.nr <= 64; key.nr += 16)
            for (int bf16 = 0; bf16 < 2; bf16++) {
                key.dtype = bf16 ? DtypeBf16 : DtypeF32;
                key.epilogue = EpAccumulate | EpAhead;
                use_tile(k, key);
                key.epilogue = EpAny;
                use_tile(k, key);
            }
}

/* kernels_x86_64_v3 */
static const char *table_name(Arena *a, const char *march)
{
    char *name = arena_printf(a, "kernels_%s", march);
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    return name;
}

static void emit_table(Arena *a, const Kernels *k, Emit *e, const char *march)
{
    let(e, "table", "%s", table_name(a, march));
    put(e, "struct Kernel {\n"
           "    const char *name;\n"
           "    void (*function)(void);\n"
           "};\n"
           "extern const struct Kernel $table[];\n"
           "const struct Kernel $table[] = {\n");
    for (int i = 0; i < kernels_count(k); i++) {
        let(e, "kernel", "%s", kernels_nth(k, i));
        put(e, "{ \"$kernel\", (void (*)(void))$kernel },\n");
    }
    put(e, "{ 0, 0 }\n"
           "};\n");
}

int main(int argc, char **argv)
{
    Arena *a = arena_new();
    Target t;
    Fault why;
    if (argc != 2 || !target_find(&t, argv[1], 0, NULL, &why)) {
        fprintf(stderr, "usage: kernelset TARGET: one of %s\n", target_list());
        return 2;
    }
    Kernels *k = kernels_new(a, &t, false);
    Emit *e = emit_new(a);
    use_all(a, k, &t);
    emit_kernels(k, e);
    emit_table(a, k, e, t.march);
    size_t n;
    const char *text = emit_text(e, &n);
    const bool written = fwrite(text, 1, n, stdout) == n && !fflush(stdout);
    arena_free(a);
    return written ? 0 : 1;
}
