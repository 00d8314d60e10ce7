/* diff_json.c: prints a complete difference as JSON. */
#include <math.h>

#include "base/put_json.h"
#include "diff/diff.h"

/* Adds the value of one variant as the member `key`: a number if `number` is
 * set, else a text. */
static void add_value(Buffer *b, const char *key, const Fact *f, bool number)
{
    if (f && number && !*f->text)
        json_put_number(b, key, f->number, 17);
    else
        json_put_text(b, key, f ? f->text : NULL);
}

static void add_layers(Buffer *b, const Change *c)
{
    json_put_key(b, "layers");
    buffer_printf(b, "[");
    for (int i = 0; i < c->layers.n; i++)
        buffer_printf(b, "%s%d", i ? ", " : "", c->layers.at[i]);
    buffer_printf(b, "]");
}

static const char *unit_word(FactUnit unit)
{
    static const char *const word[] = {
        [UnitCount] = "count",
        [UnitBytes] = "bytes",
        [UnitFlops] = "flops",
        [UnitSeconds] = "seconds",
    };
    return word[unit];
}

static void change_json(Buffer *b, FactKind kind, const char *key,
                        const Change *c)
{
    const Fact *f = c->a ? c->a : c->b;
    const bool counts = kind != FactField && kind != FactNode
                     && kind != FactTask;
    json_put_text(b, key, f->key);
    if (kind == FactNode || kind == FactMissed)
        add_layers(b, c);
    if (kind == FactMissed) {
        json_put_flag(b, "a", c->a);
        json_put_flag(b, "b", c->b);
        return;
    }
    add_value(b, "a", c->a, counts);
    add_value(b, "b", c->b, counts);
    if (kind == FactNode) {
        json_put_text(b, "type_a", c->a ? c->a->type : NULL);
        json_put_text(b, "type_b", c->b ? c->b->type : NULL);
    }
    if (kind == FactCost) {
        const bool both = c->a && c->b && c->a->number > 0;
        json_put_text(b, "unit", unit_word(f->unit));
        json_put_number(b, "ratio", both ? c->b->number / c->a->number : NAN,
                        6);
    }
}

char *difference_json(Arena *a, const Difference *d, const char *name_a,
                      const char *name_b)
{
    static const struct {
        FactKind kind;
        const char *list, *key;
    } parts[] = {
        { FactField, "fields", "field" },
        { FactCost, "costs", "cost" },
        { FactPass, "passes", "pass" },
        { FactMissed, "failed_fusions", "fusion" },
        { FactNode, "operations", "name" },
        { FactFunction, "functions", "function" },
        { FactTask, "tilings", "task" },
    };
    Buffer b = { .arena = a };
    buffer_printf(&b, "{\n  ");
    json_put_text(&b, "a", name_a);
    buffer_printf(&b, ",\n  ");
    json_put_text(&b, "b", name_b);
    buffer_printf(&b, ",\n  ");
    json_put_flag(&b, "same", d->same);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const int n = d->of[parts[i].kind].n;
        buffer_printf(&b, ",\n  \"%s\": [", parts[i].list);
        for (int j = 0; j < n; j++) {
            buffer_printf(&b, "%s\n    {", j ? "," : "");
            change_json(&b, parts[i].kind, parts[i].key,
                        &d->of[parts[i].kind].at[j]);
            buffer_printf(&b, "}");
        }
        buffer_printf(&b, n ? "\n  ]" : "]");
    }
    buffer_printf(&b, "\n}\n");
    return b.at;
}
