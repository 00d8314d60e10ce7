/* cmd_cache.c: attnc cache. Lists, cleans and verifies the files in the user's
 * cache directory. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/user_cache.h"
#include "base/put_json.h"
#include "base/strings.h"
#include "cli/options/options.h"

typedef struct {
    const Options *o;
    Arena *a;
    int64_t before_ns; /* for `clean`: removes files last used before this */
} Job;

static const char *const state_name[] = {
    [CacheSound] = "sound", [CacheDamaged] = "damaged", [CacheOpen] = "open",
    [CacheLeft] = "left",   [CacheForeign] = "foreign",
};

/* ---- figures ---- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Returns the time since `ns` as text, e.g. "5 min". */
static const char *age_text(Arena *a, int64_t ns)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = { { "d", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 } };
    const int64_t age = attn_max(now_ns() - ns, 0) / 1000000000;
    int i = 0;
    while (i < 3 && age < units[i].seconds)
        i++;
    return arena_printf(a, "%lld %s", (long long)(age / units[i].seconds),
                        units[i].name);
}

/* Parses an age such as "30d" and returns it in seconds. */
static int64_t read_age(const char *text)
{
    static const char units[] = "smhd";
    static const int64_t seconds[] = { 1, 60, 3600, 86400 };
    char *end;
    const long long n = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (*text < '0' || *text > '9' || !unit || end[1] || n > 100000)
        fail(ExitUsage,
             "--older-than '%s': a time to 100000d, as 12h, or 30d for 30 days",
             quote(text));
    return n * seconds[unit - units];
}

/* ---- ls ---- */
static void print_file(Arena *a, const CacheFile *f)
{
    const char *name = f->state == CacheForeign ? "foreign"
                     : f->state == CacheLeft    ? "left"
                                                : cache_kind_name(f->kind);
    printf("%10s %8s  %-8s %s%s\n", bytes_text(a, (double)f->bytes, true, 2),
           age_text(a, f->used_ns), name,
           f->state == CacheSound ? "" : quote(f->name),
           f->state == CacheSound     ? quote(f->what)
           : f->state == CacheDamaged ? ": damaged, or of another attnc"
           : f->state == CacheOpen    ? ": others can write it"
                                      : "");
}

static void print_json_file(Buffer *b, const CacheFile *f)
{
    const bool ours = f->state != CacheForeign && f->state != CacheLeft;
    buffer_printf(b, "    {");
    json_put_text(b, "file", f->name);
    json_put_text(b, "state", state_name[f->state]);
    json_put_text(b, "kind", ours ? cache_kind_name(f->kind) : NULL);
    json_put_count(b, "bytes", (int64_t)f->bytes);
    json_put_count(b, "made", f->made);
    json_put_fixed(b, "used", 1e-9 * (double)f->used_ns, 3);
    json_put_text(b, "what", f->what);
    buffer_printf(b, "}");
}

static void print_cache_json(Arena *a, const CacheList *l)
{
    Buffer b = { .arena = a };
    buffer_printf(&b, "{\n  ");
    json_put_text(&b, "folder", l->folder);
    buffer_printf(&b, ",\n  ");
    json_put_count(&b, "bytes", (int64_t)l->bytes);
    buffer_printf(&b, ",\n  ");
    json_put_count(&b, "limit", (int64_t)cache_limit());
    buffer_printf(&b, ",\n  \"files\": [");
    for (int i = 0; i < l->at.n; i++) {
        buffer_printf(&b, i ? ",\n" : "\n");
        print_json_file(&b, &l->at.at[i]);
    }
    buffer_printf(&b, "%s]\n}\n", l->at.n ? "\n  " : "");
    fputs(b.at, stdout);
}

static int list_cache(Job *w)
{
    CacheList l;
    cache_list(&l, w->a, false);
    if (w->o->json) {
        print_cache_json(w->a, &l);
        return ExitDone;
    }
    if (l.at.n)
        printf("%s%10s %8s  %-8s %s%s\n", paint(stdout, PaintHead), "size",
               "used", "kind", "what", paint(stdout, PaintEnd));
    int n = 0;
    for (int i = 0; i < l.at.n; i++) {
        print_file(w->a, &l.at.at[i]);
        n += l.at.at[i].state != CacheForeign;
    }
    printf("%d file%s, %s of %s in %s\n", n, n == 1 ? "" : "s",
           bytes_text(w->a, (double)l.bytes, true, 2),
           bytes_text(w->a, (double)cache_limit(), true, 2),
           l.folder ? quote(l.folder) : "no folder");
    return ExitDone;
}

/* ---- clean ---- */
static bool goes(const CacheFile *f, const void *with)
{
    const Job *w = with;
    return w->o->all || f->state != CacheSound
        || (w->o->older && f->used_ns < w->before_ns);
}

static int clean(Job *w)
{
    CacheList removed;
    if (w->o->older)
        w->before_ns = now_ns() - read_age(w->o->older) * 1000000000;
    cache_clean(&removed, w->a, goes, w, cache_limit(), w->o->dry_run);
    printf("%d file%s, %s %s\n", removed.at.n, removed.at.n == 1 ? "" : "s",
           bytes_text(w->a, (double)removed.bytes, true, 2),
           w->o->dry_run ? "would be removed" : "removed");
    return ExitDone;
}

/* ---- verify ---- */
static bool is_cache_named(const CacheFile *f, const void *with)
{
    const CacheList *bad = with;
    for (int i = 0; i < bad->at.n; i++)
        if (strcmp(bad->at.at[i].name, f->name) == 0)
            return true;
    return false;
}

static void say_bad(const CacheFile *f, bool removed)
{
    printf("%s: %s%s\n", quote(f->name),
           f->state == CacheOpen ? "others can write it: it is not used"
           : f->state == CacheLeft
               ? "a writer that was killed left it"
               : "damaged, or of another version of attnc: it is not used",
           removed ? "; removed" : "");
}

static int verify(Job *w)
{
    CacheList l, bad = { 0 }, removed;
    int sound = 0;
    cache_list(&l, w->a, true);
    for (int i = 0; i < l.at.n; i++) {
        const CacheFile *f = &l.at.at[i];
        if (f->state == CacheSound)
            sound++;
        else if (f->state == CacheForeign)
            printf("%s: no file of the cache: it is left alone\n",
                   quote(f->name));
        else
            vec_push(w->a, &bad.at, *f);
    }
    if (w->o->remove)
        cache_clean(&removed, w->a, is_cache_named, &bad, UINT64_MAX, false);
    for (int i = 0; i < bad.at.n; i++)
        say_bad(&bad.at.at[i], w->o->remove);
    printf("%d sound, %d not\n", sound, bad.at.n);
    return bad.at.n && !w->o->remove ? ExitNegative : ExitDone;
}

/* ---- all ---- */

/* Rejects options that do not apply to the action. */
static void check_cache_use(const Options *o)
{
    const char *wrong = o->action != CacheClean && o->older   ? "--older-than"
                      : o->action != CacheClean && o->all     ? "--all"
                      : o->action != CacheClean && o->dry_run ? "--dry-run"
                      : o->action != CacheVerify && o->remove ? "--remove"
                      : o->action != CacheLs && o->json       ? "--format"
                                                              : NULL;
    if (wrong)
        fail(ExitUsage, "%s is for attnc cache %s", wrong,
             o->remove && o->action != CacheVerify ? "verify"
             : o->json                             ? "ls"
                                                   : "clean");
}

int cmd_cache(const Options *o)
{
    static int (*const actions[])(Job *) = {
        [CacheLs] = list_cache, [CacheClean] = clean, [CacheVerify] = verify
    };
    Job w = { .o = o, .a = arena_new() };
    check_cache_use(o);
    const int code = actions[o->action](&w);
    arena_free(w.a);
    return code;
}
