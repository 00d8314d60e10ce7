/* cross.c: finds C compilers for other machines. Any clang compiles for them
 * with --target; gcc needs a separate program for each machine. All of them
 * need the C library of the target. If it is missing, that is detected before
 * the model is compiled, because the compiler's own messages do not help the
 * user. */
#include <string.h>

#include "backend/backend.h"
#include "base/strings.h"

enum { AskSeconds = 20 };

/* Returns the machine for which a compiler generates code, with `option` on its
 * command line unless that is NULL. Returns "" if the compiler rejects the
 * option or prints no machine. */
static const char *machine_of(Arena *a, const char *compiler,
                              const char *option)
{
    Spawned s;
    Fault unused;
    const char *argv[] = { compiler, "-dumpmachine", option, NULL };
    return spawn(&s, argv, "", 0, AskSeconds, &unused)
             ? arena_strndup(a, s.out, strcspn(s.out, "\n"))
             : "";
}

/* Returns true if two triples begin with the same architecture. */
static bool same_architecture(const char *m, const char *n)
{
    const size_t length = strcspn(m, "-");
    return strcspn(n, "-") == length && strncmp(m, n, length) == 0;
}

bool cc_aim(Arena *a, CcOptions *o, const Target *t, Fault *why)
{
    if (!t->triple)
        return true;
    const char *own = machine_of(a, o->compiler, NULL);
    if (!*own || same_architecture(own, t->triple))
        return true;
    const char *option = arena_printf(a, "--target=%s", t->triple);
    if (same_architecture(machine_of(a, o->compiler, option), t->triple)) {
        o->target = t->triple;
        return true;
    }
    if (!target_foreign(t))
        return fault(why, ExitBackend,
                     "%s makes code for %s, not for %s; give another by --cc, "
                     "or that machine's --march",
                     o->compiler, plain_text(a, own), t->march);
    return fault(why, ExitBackend,
                 "%s makes code for %s, not for %s; take clang, or "
                 "--cc=%s-gcc (apt-get install %s)",
                 o->compiler, plain_text(a, own), t->march, t->triple,
                 t->packages);
}

/* Returns the first error in the messages, without the "included from"
 * lines. */
static const char *first_error(Arena *a, const char *messages)
{
    static const char lead[] = "In file included";
    while (strncmp(messages, lead, strlen(lead)) == 0 && strchr(messages, '\n'))
        messages = strchr(messages, '\n') + 1;
    return plain_text(a, arena_strndup(a, messages, strcspn(messages, "\n")));
}

/* Compiles a small text that needs the same headers and libraries as a
 * model. */
static bool compiles(Arena *a, const CcOptions *o, CcKind kind, Spawned *s)
{
    static const char text[] = "#include <linux/futex.h>\n"
                               "#include <math.h>\n"
                               "#include <stdio.h>\n"
                               "int main(void) { return puts(\"\") < 0; }\n";
    TempFolder folder;
    Fault unused;
    if (!temp_open(&folder, NULL))
        return true;
    const char *output = arena_printf(a, "%s/library", folder.path);
    const bool ok = spawn(s, cc_command(a, o, kind, output), text, strlen(text),
                          AskSeconds, &unused);
    temp_close(&folder);
    return ok;
}

bool cc_has_library(Arena *a, const CcOptions *o, const Target *t, CcKind kind,
                    Fault *why)
{
    Spawned s;
    if (o->print || !(o->target || target_foreign(t))
        || compiles(a, o, kind, &s))
        return true;
    const bool links = kind == CcObject || !compiles(a, o, CcObject, &s);
    if (!links)
        compiles(a, o, kind, &s);
    return fault(why, ExitBackend,
                 "%s finds no %s of a C library for %s (%s); install them: "
                 "apt-get install %s",
                 o->compiler, links ? "headers" : "files or linker", t->triple,
                 first_error(a, s.tail), t->packages);
}
