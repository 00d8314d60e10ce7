/* cmd_plan.c: attnc plan: what a model costs, as text or JSON. */
#include <string.h>

#include "cli/cli.h"

int cmd_plan(const Options *o)
{
    static const char *const formats[] = { "text", "json" };
    int json = option_choice("--format", o->format, formats, 2);
    EngineOptions options = engine_options(o);
    Engine e = { .arena = NULL };
    Fault why;
    int code = engine_plan(&e, &options);
    if (!code) {
        const char *text = json ? plan_json(e.arena, e.plan)
                                : plan_text(e.arena, e.plan);
        if (!write_file(o->output ? o->output : "-", text, strlen(text), &why))
            code = report_fault(&why);
    }
    engine_close(&e);
    return code;
}

/* attnc fields: the reference of the spec's format. */
int cmd_fields(const Options *o)
{
    static const char *const formats[] = { "text", "markdown" };
    spec_print_fields(stdout, option_choice("--format", o->format, formats, 2));
    return ExitDone;
}
