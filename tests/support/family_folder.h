/* family_folder.h: a copy of a folder of tests/families, with another config.
 */
#ifndef ATTNC_TEST_FAMILY_FOLDER_H
#define ATTNC_TEST_FAMILY_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Links all files of the family except config.json to the folder `to`. */
static inline void link_family(const char *family, const char *to)
{
    char here[4096], from[8192], path[8192];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(from, sizeof from, "%s/tests/families/%s", here, family);
    DIR *d = opendir(from);
    assert_non_null(d);
    const size_t n = strlen(from);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.' || !strcmp(e->d_name, "config.json"))
            continue;
        snprintf(from + n, sizeof from - n, "/%s", e->d_name);
        snprintf(path, sizeof path, "%s/%s", to, e->d_name);
        assert_int_equal(symlink(from, path), 0);
    }
    closedir(d);
}

#endif
