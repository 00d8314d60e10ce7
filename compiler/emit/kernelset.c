/* kernelset.c: build-time program. `kernelset x86-64-v3` prints the C file of
 * the kernels that a JIT skeleton may call on that machine: every kernel
 * and every tile, with a table by name. */
#include "emit/kernels.h"

/* Every tile that a tiling can have, and so every remainder of one. */
static void use_all(Kernels *k, const Target *t)
{
    TileKey key = { .dtype = DtypeF32, .width = t->width, .prebuilt = true };
    use_all_kernels(k);
    for (key.mr = 1; key.mr <= 16; key.mr++)
        for (key.nr = 16; key.nr <= 64; key.nr += 16)
            for (int bf16 = 0; bf16 < 2; bf16++) {
                key.dtype = bf16 ? DtypeBf16 : DtypeF32;
                key.epilogue = EpAccumulate | EpPrefetch;
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
    TargetNames names;
    if (argc != 2 || !target_find(&t, argv[1], 0, NULL, &why)) {
        fprintf(stderr, "usage: kernelset TARGET: one of %s\n",
                target_list(&names));
        return 2;
    }
    Kernels *k = kernels_new(a, &t, false);
    Emit *e = emit_new(a);
    use_all(k, &t);
    emit_kernels(k, e);
    emit_table(a, k, e, t.march);
    size_t n;
    const char *text = emit_text(e, &n);
    const bool written = fwrite(text, 1, n, stdout) == n && !fflush(stdout);
    arena_free(a);
    return written ? 0 : 1;
}
