/* diff_json.c: what differs, as JSON, with all of it. */
#include "base/strings.h"
#include "diff/diff.h"

static void add_key(Buffer *b, const char *key)
{
    buffer_printf(b, ", \"%s\": ", key);
}

/* The text, or the number, of one side. */
static void add_value(Buffer *b, const char *key, const Fact *f, bool number)
{
    add_key(b, key);
    if (!f)
        buffer_printf(b, "null");
    else if (number && !*f->text)
        json_number(b, f->number, 17);
    else
        json_quote(b, f->text, -1);
}

static void add_type(Buffer *b, const char *key, const Fact *f)
{
    add_key(b, key);
    if (f)
        json_quote(b, f->type, -1);
    else
        buffer_printf(b, "null");
}

static void add_layers(Buffer *b, const Change *c)
{
    add_key(b, "layers");
    buffer_printf(b, "[");
    for (int i = 0; i < c->layers.n; i++)
        buffer_printf(b, "%s%d", i ? ", " : "", c->layers.at[i]);
    buffer_printf(b, "]");
}

static void add_ratio(Buffer *b, const Change *c)
{
    add_key(b, "ratio");
    if (c->a && c->b && c->a->number > 0)
        json_number(b, c->b->number / c->a->number, 6);
    else
        buffer_printf(b, "null");
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

static void change_json(Buffer *b, FactKind kind, const Change *c)
{
    const Fact *f = c->a ? c->a : c->b;
    const bool counts = kind != FactField && kind != FactNode
                     && kind != FactTask;
    json_quote(b, f->key, -1);
    if (kind == FactNode || kind == FactMissed)
        add_layers(b, c);
    if (kind == FactMissed) {
        buffer_printf(b, ", \"a\": %s, \"b\": %s", c->a ? "true" : "false",
                      c->b ? "true" : "false");
        return;
    }
    add_value(b, "a", c->a, counts);
    add_value(b, "b", c->b, counts);
    if (kind == FactNode) {
        add_type(b, "type_a", c->a);
        add_type(b, "type_b", c->b);
    }
    if (kind == FactCost) {
        buffer_printf(b, ", \"unit\": \"%s\"", unit_word(f->unit));
        add_ratio(b, c);
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
    buffer_printf(&b, "{\n  \"a\": ");
    json_quote(&b, name_a, -1);
    buffer_printf(&b, ",\n  \"b\": ");
    json_quote(&b, name_b, -1);
    buffer_printf(&b, ",\n  \"same\": %s", d->same ? "true" : "false");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const int n = d->of[parts[i].kind].n;
        buffer_printf(&b, ",\n  \"%s\": [", parts[i].list);
        for (int j = 0; j < n; j++) {
            buffer_printf(&b, "%s\n    {\"%s\": ", j ? "," : "", parts[i].key);
            change_json(&b, parts[i].kind, &d->of[parts[i].kind].at[j]);
            buffer_printf(&b, "}");
        }
        buffer_printf(&b, n ? "\n  ]" : "]");
    }
    buffer_printf(&b, "\n}\n");
    return b.at;
}
