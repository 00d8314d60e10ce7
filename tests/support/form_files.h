/* form_files.h: writes a random form as files: the spec, and next to it the
 * masks and vocabularies that it names. Included after cmocka's headers. */
#ifndef ATTNC_FORM_FILES_H
#define ATTNC_FORM_FILES_H

#include "support/random_form.h"

/* Returns the spec's path, in `a`. Files of an earlier form may be replaced. */
static inline const char *write_form(Arena *a, const char *folder,
                                     uint64_t seed)
{
    Fault why;
    RandomForm f = random_form(a, seed);
    const char *path = arena_printf(a, "%s/form.yaml", folder);

    assert_true(write_file(path, f.r.text, strlen(f.r.text), &why));
    for (int i = 0; i < f.nfiles; i++)
        assert_true(write_file(arena_printf(a, "%s/%s", folder, f.file[i].name),
                               f.file[i].text, strlen(f.file[i].text), &why));
    return path;
}

#endif
