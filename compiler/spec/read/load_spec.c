/* load_spec.c: reads a spec from its file. Resolves and checks all written
 * values, then those of each layer, which is the spec with a row of the pattern
 * written over it. */
#include "spec/fields/fields.h"

Spec *spec_read(Arena *a, const char *path, const Source *text,
                const char *const *sets, int nsets)
{
    int errors = error_count();

    errors_hold();
    Written *w = read_written(a, path, text, sets, nsets);
    Spec *s = w ? spec_resolve(a, path, w, ~patterned_sides(w)) : NULL;
    if (s)
        read_layers(a, s, w);
    if (error_count() == errors)
        check_scans(s);
    errors_release();
    if (error_count() != errors)
        return NULL;
    s->hash = hash_spec(a, s);
    return s;
}
