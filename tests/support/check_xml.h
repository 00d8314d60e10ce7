/* check_xml.h: checks that a picture is valid XML. Included after cmocka.h. */
#ifndef ATTNC_CHECK_XML_H
#define ATTNC_CHECK_XML_H

#include <stdbool.h>
#include <string.h>

#include "runtime/rt.h"

static inline const char *end_of_tag(const char *s)
{
    for (bool quoted = false; *s && (quoted || *s != '>'); s++) {
        assert_int_not_equal(*s, '<');
        quoted = quoted != (*s == '"');
    }
    assert_int_equal(*s, '>');
    return s;
}

/* Checks that elements are nested and that all characters are allowed. Returns
 * the number of elements with this name. */
static inline int check_xml(const char *s, const char *name)
{
    const char *open[32];
    int depth = 0, found = 0;
    size_t n = strlen(name);
    assert_int_equal(attn_utf8(s, (int64_t)strlen(s)), strlen(s));
    for (; *s; s++) {
        assert_true((unsigned char)*s >= 0x20 || *s == '\n');
        if (*s == '&')
            assert_true(s[1] == '#' && strspn(s + 2, "0123456789") > 0
                        && s[2 + strspn(s + 2, "0123456789")] == ';');
        if (*s != '<')
            continue;
        const char *tag = s + 1;
        s = end_of_tag(s + 1);
        if (*tag == '/') {
            assert_true(depth > 0);
            tag++;
            assert_memory_equal(open[--depth], tag, (size_t)(s - tag));
        } else {
            found += strncmp(tag, name, n) == 0 && strchr(" />", tag[n]);
            if (s[-1] != '/') {
                assert_true(depth < 32);
                open[depth++] = tag;
            }
        }
    }
    assert_int_equal(depth, 0);
    return found;
}

#endif
