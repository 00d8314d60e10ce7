/* jinja_eval.c: renders a parsed chat template: statements and scopes. A loop
 * and a macro have a scope of their own; a macro sees the top level's. */
#include <string.h>

#include "import/jinja.h"

enum { MostFuel = 1 << 18, MostCalls = 8 };

typedef struct {
    const char *name;
    Datum value;
} Variable;

typedef struct {
    JinjaState s;
    VEC(Variable) variables; /* innermost scope last */
    int globals;             /* variables of the top level */
    int frame;               /* first variable of the current macro */
    int scope;               /* first variable of the current scope */
    VEC(const JinjaNode *) macros;
    int calls; /* macros that are running */
    enum { LeaveNone, LeaveTurn, LeaveLoop } leave;
    Buffer out;
} Eval;

static const Datum undefined = { .kind = ValueUndefined };

static Datum value(Eval *v, const JinjaNode *e);
static void run(Eval *v, const JinjaNodes *list);

static bool failed(const Eval *v)
{
    return v->s.why->why;
}

/* ---- variables ---- */
static Variable *find_binding(Eval *v, const char *name)
{
    for (int i = v->variables.n - 1; i >= 0; i--)
        if ((i >= v->frame || i < v->globals)
            && !strcmp(v->variables.at[i].name, name))
            return &v->variables.at[i];
    return NULL;
}

static void assign(Eval *v, const char *name, Datum x)
{
    for (int i = v->variables.n - 1; i >= v->scope; i--)
        if (!strcmp(v->variables.at[i].name, name)) {
            v->variables.at[i].value = x;
            return;
        }
    vec_push(v->s.arena, &v->variables, ((Variable){ name, x }));
    if (!v->scope)
        v->globals = v->variables.n;
}

/* ---- expressions ---- */
static Datum list_or_map(Eval *v, const JinjaNode *e)
{
    VEC(Datum) items = { NULL, 0, 0 };
    VEC(const char *) keys = { NULL, 0, 0 };
    const bool map = e->kind == NodeMap;
    for (int i = 0; i < e->in.n && !failed(v); i++) {
        const Datum x = value(v, e->in.at[i]);
        if (!map || i % 2)
            vec_push(v->s.arena, &items, x);
        else if (x.kind == ValueText)
            vec_push(v->s.arena, &keys, x.text);
        else
            return jinja_fault(&v->s, e, "a key that is not a text");
    }
    if (failed(v))
        return undefined;
    return jinja_map(&v->s, e, items.at,
                     map ? keys.n ? keys.at : (const char *[]){ NULL } : NULL,
                     items.n);
}

/* Renders the statements of a list as a text. */
static Datum captured(Eval *v, const JinjaNode *e)
{
    const Buffer out = v->out;
    v->out = (Buffer){ .arena = v->s.arena };
    run(v, &e->body);
    const Datum text = jinja_words(&v->s, e, v->out.at ? v->out.at : "",
                                   v->out.n);
    v->out = out;
    return text;
}

static Datum macro_call(Eval *v, const JinjaNode *e, const JinjaNode *macro)
{
    VEC(Variable) given = { NULL, 0, 0 };
    for (int i = 0; i < macro->names.n; i++) {
        const char *name = macro->names.at[i];
        const JinjaNode *from = macro->in.at[i];
        for (int k = 1; k < e->in.n; k++)
            if (e->in.at[k]->key ? !strcmp(e->in.at[k]->key, name) : k == i + 1)
                from = e->in.at[k];
        const Datum x = from ? value(v, from) : undefined;
        vec_push(v->s.arena, &given, ((Variable){ name, x }));
    }
    if (++v->calls > MostCalls)
        jinja_fault(&v->s, e, "macros call each other too deeply");
    const int mark = v->variables.n, frame = v->frame, scope = v->scope;
    v->frame = v->scope = mark;
    for (int i = 0; i < given.n; i++)
        vec_push(v->s.arena, &v->variables, given.at[i]);
    const Datum text = failed(v) ? undefined : captured(v, macro);
    v->variables.n = mark;
    v->frame = frame;
    v->scope = scope;
    v->calls--;
    return text;
}

static Datum eval_call(Eval *v, const JinjaNode *e)
{
    VEC(Datum) arguments = { NULL, 0, 0 };
    jinja_spend(&v->s, e, v->macros.n / 16);
    if (e->kind == NodeFunction)
        for (int i = v->macros.n - 1; i >= 0; i--)
            if (!strcmp(v->macros.at[i]->text, e->text))
                return macro_call(v, e, v->macros.at[i]);
    if (e->kind == NodeTest && e->in.at[0]->kind == NodeName
        && !strcmp(e->in.at[0]->text, "strftime_now"))
        return value_truth(!strcmp(e->text, "defined"));
    for (int i = 0; i < e->in.n && !failed(v); i++) {
        const Datum x = e->in.at[i] ? value(v, e->in.at[i]) : undefined;
        vec_push(v->s.arena, &arguments, x);
    }
    return failed(v) ? undefined
                     : jinja_call(&v->s, e, arguments.at, arguments.n);
}

static Datum eval_binary(Eval *v, const JinjaNode *e)
{
    const Datum x = value(v, e->in.at[0]);
    const bool both = !strcmp(e->text, "and");
    if (both || !strcmp(e->text, "or"))
        return failed(v) || jinja_truth(&x) != both ? x : value(v, e->in.at[1]);
    const Datum y = value(v, e->in.at[1]);
    return failed(v) ? undefined : jinja_binary(&v->s, e, &x, &y);
}

static Datum eval_unary(Eval *v, const JinjaNode *e)
{
    const Datum x = value(v, e->in.at[0]);
    if (!strcmp(e->text, "not"))
        return value_truth(!jinja_truth(&x));
    if (x.kind != ValueInt)
        return jinja_fault(&v->s, e, "a sign before what is not an integer");
    return value_integer(*e->text == '-' ? -x.whole : x.whole);
}

static Datum part(Eval *v, const JinjaNode *e)
{
    const Datum of = value(v, e->in.at[0]);
    Datum by[3] = { { .kind = ValueText, .text = e->text } };
    if (e->kind != NodeMember)
        for (int i = 1; i < e->in.n; i++)
            by[i - 1] = e->in.at[i] ? value(v, e->in.at[i]) : undefined;
    if (failed(v))
        return undefined;
    return e->kind == NodeSlice ? jinja_slice(&v->s, e, &of, by)
                                : jinja_item(&v->s, e, &of, by);
}

static Datum value(Eval *v, const JinjaNode *e)
{
    if (!jinja_spend(&v->s, e, 1))
        return undefined;
    switch (e->kind) {
    case NodeLiteral: return e->value;
    case NodeName:    {
        jinja_spend(&v->s, e, v->variables.n / 16);
        const Variable *x = find_binding(v, e->text);
        return x ? x->value : undefined;
    }
    case NodeList:
    case NodeMap:    return list_or_map(v, e);
    case NodeMember:
    case NodeIndex:
    case NodeSlice:  return part(v, e);
    case NodeUnary:  return eval_unary(v, e);
    case NodeBinary: return eval_binary(v, e);
    case NodeChoice: {
        const Datum x = value(v, e->in.at[0]);
        const JinjaNode *then = e->in.at[jinja_truth(&x) ? 1 : 2];
        return then ? value(v, then) : undefined;
    }
    default: return eval_call(v, e);
    }
}

/* ---- statements ---- */

/* Sets the variables of a loop to an item. */
static void bind_value(Eval *v, const JinjaNode *e, const Datum *item)
{
    const int n = e->names.n;
    if (n == 1) {
        assign(v, e->names.at[0], *item);
        return;
    }
    if (item->kind != ValueList || item->many.n != n) {
        jinja_fault(&v->s, e, "a loop over other than %d values at once", n);
        return;
    }
    for (int i = 0; i < n; i++)
        assign(v, e->names.at[i], item->many.at[i]);
}

/* Returns the variable `loop`. */
static Datum loop_of(Eval *v, const JinjaNode *e, const Datum *items, int n,
                     int i)
{
    static const char *const keys[] = { "index",     "index0",   "revindex",
                                        "revindex0", "first",    "last",
                                        "length",    "previtem", "nextitem" };
    const Datum of[] = { value_integer(i + 1),
                         value_integer(i),
                         value_integer(n - i),
                         value_integer(n - i - 1),
                         value_truth(i == 0),
                         value_truth(i == n - 1),
                         value_integer(n),
                         i > 0 ? items[i - 1] : undefined,
                         i < n - 1 ? items[i + 1] : undefined };
    return jinja_map(&v->s, e, of, keys, 9);
}

static void run_for(Eval *v, const JinjaNode *e)
{
    const Datum of = value(v, e->in.at[0]);
    const Datum all = failed(v) ? undefined : jinja_items(&v->s, e, &of);
    const int mark = v->variables.n, scope = v->scope;
    VEC(Datum) items = { NULL, 0, 0 };
    if (failed(v))
        return;
    v->scope = mark; /* above 0, because a template has variables */
    for (int i = 0; i < all.many.n && !failed(v); i++) {
        bind_value(v, e, &all.many.at[i]);
        const Datum keep = e->in.at[1] ? value(v, e->in.at[1])
                                       : value_truth(true);
        if (jinja_truth(&keep))
            vec_push(v->s.arena, &items, all.many.at[i]);
    }
    for (int i = 0; i < items.n && !failed(v) && v->leave != LeaveLoop; i++) {
        v->variables.n = v->scope;
        bind_value(v, e, &items.at[i]);
        assign(v, "loop", loop_of(v, e, items.at, items.n, i));
        v->leave = LeaveNone;
        run(v, &e->body);
    }
    v->leave = LeaveNone;
    v->variables.n = mark;
    v->scope = scope;
    if (!items.n)
        run(v, &e->other);
}

static void run_set(Eval *v, const JinjaNode *e)
{
    const Datum x = e->in.n ? value(v, e->in.at[0]) : captured(v, e);
    if (!jinja_spend(&v->s, e, v->variables.n / 16))
        return;
    if (!e->key) {
        assign(v, e->text, x);
        return;
    }
    const Variable *space = find_binding(v, e->text);
    if (!space || space->value.kind != ValueSpace) {
        jinja_fault(&v->s, e, "a member of what is no namespace is set");
        return;
    }
    Datum *map = &v->s.spaces.at[space->value.whole];
    VEC(Datum) items = { NULL, 0, 0 };
    VEC(const char *) keys = { NULL, 0, 0 };
    for (int i = 0; i < map->many.n; i++)
        if (strcmp(map->many.key[i], e->key) != 0) {
            vec_push(v->s.arena, &items, map->many.at[i]);
            vec_push(v->s.arena, &keys, map->many.key[i]);
        }
    vec_push(v->s.arena, &items, x);
    vec_push(v->s.arena, &keys, e->key);
    const Datum with = jinja_map(&v->s, e, items.at, keys.at, items.n);
    v->s.spaces.at[space->value.whole] = with;
}

static void print(Eval *v, const JinjaNode *e, const char *text)
{
    const size_t n = strlen(text);
    if (jinja_spend(&v->s, e, (int64_t)n))
        buffer_add(&v->out, text, n);
}

static void run_one(Eval *v, const JinjaNode *e)
{
    Datum x = undefined;
    switch (e->kind) {
    case NodeText: print(v, e, e->value.text); break;
    case NodePrint:
        x = value(v, e->in.at[0]);
        print(v, e, failed(v) ? "" : jinja_text(&v->s, e, &x));
        break;
    case NodeIf:
        x = value(v, e->in.at[0]);
        if (!failed(v))
            run(v, jinja_truth(&x) ? &e->body : &e->other);
        break;
    case NodeFor:      run_for(v, e); break;
    case NodeSet:      run_set(v, e); break;
    case NodeMacro:    vec_push(v->s.arena, &v->macros, e); break;
    case NodeBreak:    v->leave = LeaveLoop; break;
    case NodeContinue: v->leave = LeaveTurn; break;
    default:           run(v, &e->body); break;
    }
}

static void run(Eval *v, const JinjaNodes *list)
{
    for (int i = 0; i < list->n && !failed(v) && !v->leave; i++)
        if (jinja_spend(&v->s, list->at[i], 1))
            run_one(v, list->at[i]);
}

const char *jinja_render(Arena *a, const JinjaNode *top, const Datum *variables,
                         bool *dated, JinjaFault *why)
{
    Eval v = { .s = { .arena = a, .why = why, .fuel = MostFuel },
               .out = { .arena = a } };
    *why = (JinjaFault){ 0 };
    for (int i = 0; i < variables->many.n; i++)
        assign(&v, variables->many.key[i], variables->many.at[i]);
    run(&v, &top->body);
    *dated |= v.s.dated;
    return why->why ? NULL : v.out.at ? v.out.at : "";
}
