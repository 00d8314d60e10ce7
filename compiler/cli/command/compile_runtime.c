/* compile_runtime.c: --runtime=beside: writes attn.c and attn.h next to the C
 * file of a model. Both are the same for every model. */
#include <string.h>

#include "base/strings.h"
#include "cli/command/compile.h"

void look_at_runtime(const Options *o)
{
    if (!o->beside)
        return;
    if (o->kinds != 1 << EmitC)
        fail(ExitUsage, "--runtime=beside writes C files: leave out --emit, or "
                        "leave out --runtime=beside");
    if (is_stream(o->output))
        fail(ExitUsage, "--runtime=beside writes attn.c and attn.h beside the "
                        "C file: give -o a name in .c");
}

const char *runtime_path(Arena *a, const char *path, bool header)
{
    return arena_printf(a, "%.*sattn.%c", (int)(base_name(path) - path), path,
                        header ? 'h' : 'c');
}

bool runtime_guard(const Options *o, Arena *a, const char *path,
                   const char *model_header, Fault *why)
{
    bool ok = true;
    for (int i = 0; ok && o->beside && i < 2; i++) {
        const char *file = runtime_path(a, path, i);
        ok = guard_same(file, i ? model_header : path)
               ? fault(why, ExitUsage,
                       "--runtime=beside writes %s: give the model's files "
                       "another name by -o",
                       quote(file))
               : guard_write(file, UseInput, why);
    }
    return ok;
}

bool runtime_write(const Options *o, const Engine *e, const char *path,
                   Fault *why)
{
    Arena *a = e->arena;
    size_t n, size;
    if (!o->beside)
        return true;
    const char *source = emit_runtime_source(a, e->plan, &n);
    const char *header = emit_runtime_header(a, e->plan, &size);
    return write_file(runtime_path(a, path, false), source, n, why)
        && write_file(runtime_path(a, path, true), header, size, why);
}
