/* parts.c: decides which parts an emitted file contains. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

bool file_has_part(const Plan *p, const EmitOptions *o, FilePart part)
{
    EmitOptions all = *o;
    all.left_out = 0;
    if (part == FileThreads)
        return true;
    if (part == FileMain)
        return !o->freestanding;
    return has_export_of(p, &all, part);
}

bool has_part(const Gen *g, FilePart part)
{
    return !is_left_out(g->o, part) && file_has_part(g->p, g->o, part);
}

/* ---- what follows from the parts ---- */

bool has_main(const Gen *g)
{
    return g->o->mode == EmitAot && has_part(g, FileMain);
}

bool has_handle(const Gen *g)
{
    return g->o->mode == EmitAot && has_part(g, FileHandle);
}

bool has_pool(const Gen *g)
{
    return has_part(g, FileThreads) && (has_main(g) || has_handle(g));
}

bool generates(const Gen *g)
{
    return has_decoder(g->p) && has_root(g->o, "options");
}

void emit_left_out(Gen *g, Emit *e)
{
    bool any = false;
    for (int i = 0; i < FileParts; i++) {
        if (!is_left_out(g->o, (FilePart)i)
            || !file_has_part(g->p, g->o, (FilePart)i))
            continue;
        if (!any)
            put(e, "/* Omitted parts, which attnc compile --parts=NAMES "
                   "adds:\n");
        any = true;
        const PartText text = part_text((FilePart)i);
        let(e, "part", "%-8s", text.name);
        let(e, "brings", "%s", text.brings);
        put(e, " *     $part $brings\n");
    }
    if (any)
        put(e, " */\n\n");
}
