/* saved.c: writes facts to a file and reads them in another process. A record
 * has a fixed size and is followed by its strings with their final 0. The file
 * ends with the number of facts, which shows that it is complete. */
#include <string.h>

#include "diff/diff.h"

typedef struct {
    int32_t kind, layer, derived, unit;
    double number, low, high;
    uint32_t key, text, type; /* lengths of the strings, with the final 0 */
} Fixed;

enum { EndOfFacts = -1, MostText = 1 << 20 };

static uint32_t size_of(const char *text)
{
    return (uint32_t)strlen(text) + 1;
}

static bool write_fact(const Fact *f, FILE *to)
{
    const Fixed x = {
        .kind = f->kind,
        .layer = f->layer,
        .derived = f->derived,
        .unit = f->unit,
        .number = f->number,
        .low = f->low,
        .high = f->high,
        .key = size_of(f->key),
        .text = size_of(f->text),
        .type = size_of(f->type),
    };
    return fwrite(&x, sizeof x, 1, to) == 1 && fwrite(f->key, x.key, 1, to) == 1
        && fwrite(f->text, x.text, 1, to) == 1
        && fwrite(f->type, x.type, 1, to) == 1;
}

bool facts_write(const Facts *f, FILE *to)
{
    const Fixed end = { .kind = EndOfFacts, .layer = f->at.n };
    bool done = true;
    for (int i = 0; done && i < f->at.n; i++)
        done = write_fact(&f->at.at[i], to);
    return done && fwrite(&end, sizeof end, 1, to) == 1 && fflush(to) == 0;
}

static const char *read_text(Arena *a, uint32_t n, FILE *from)
{
    if (n == 0 || n > MostText)
        return NULL;
    char *text = arena_alloc(a, n);
    return fread(text, n, 1, from) == 1 && !text[n - 1] ? text : NULL;
}

bool facts_read(Facts *f, FILE *from)
{
    Fixed x;
    while (fread(&x, sizeof x, 1, from) == 1) {
        if (x.kind == EndOfFacts)
            return x.layer == f->at.n;
        Fact fact = {
            .kind = (FactKind)x.kind,
            .layer = x.layer,
            .derived = x.derived,
            .unit = (FactUnit)x.unit,
            .number = x.number,
            .low = x.low,
            .high = x.high,
        };
        fact.key = read_text(f->arena, x.key, from);
        fact.text = read_text(f->arena, x.text, from);
        fact.type = read_text(f->arena, x.type, from);
        if (!fact.key || !fact.text || !fact.type || x.kind < 0
            || x.kind >= FactKinds)
            return false;
        vec_push(f->arena, &f->at, fact);
    }
    return false;
}
