/* handle_text.c: emits the handle of an open model: the files
 * runtime/handle/handle*.c, and the exported functions that use it. */
#include "emit/text/embedded.h"
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

void emit_handle_system(const Gen *g, Emit *e)
{
    size_t n;
    const char *text = embedded_text("handle_system.h", &n);
    if (!has_handle(g))
        return;
    emit_raw(e, text, n);
    put(e, "\n");
}

void emit_handle_names(Gen *g, Emit *e)
{
    let(e, "embedded", "%s_embedded", g->p->prefix);
    let(e, "options", "%s_options", g->p->prefix);
    put(e, "#define embedded_weights $embedded\n");
    if (generates(g))
        put(e, "#define options_of_spec $options\n");
    put(e, "\n");
}
