/* embedded.c: looks up an embedded text by its file name. */
#include "emit/text/embedded.h"

#include "base/base.h"

#include <string.h>

const char *embedded_text(const char *name, size_t *n)
{
    for (int i = 0; i < n_embedded; i++)
        if (!strcmp(embedded[i].name, name)) {
            *n = embedded[i].size;
            return embedded[i].text;
        }
    die("%s is not embedded", name);
}
