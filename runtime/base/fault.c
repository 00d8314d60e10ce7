/* fault.c: stores the code and message of an error. */
#include <stdarg.h>
#include <stdio.h>

#include "runtime/rt.h"

/* Copies text, writing each byte that is not printable ASCII as \xHH. Names
 * come from outside the program; unescaped, they could break a message's line
 * or control a terminal. */
static void escape(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text && n + 5 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x20 && c < 0x7f)
            out[n++] = *text;
        else
            n += (size_t)snprintf(out + n, size - n, "\\x%02x", c);
    }
    out[n] = '\0';
}

bool fault(Fault *f, int code, const char *fmt, ...)
{
    char text[sizeof f->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    f->code = code;
    escape(f->text, sizeof f->text, text);
    return false;
}
