/* check_xml.h: is a picture XML? Include it behind cmocka.h. */
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

/* Elements end in the order in which they began; no character is forbidden.
 * Returns how many elements have this name.                                 */
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
