/* cmd_plan.c: attnc plan: what a model costs, as text or JSON. */
#include <string.h>

#include "cli/options.h"

int cmd_plan(const PlanCommand *o)
{
    EngineOptions options = engine_options(CmdPlan, &o->model, &o->code);
    Engine e = { .arena = NULL };
    Fault why;
    int code = engine_plan(&e, &options);
    if (!code) {
        const char *text = o->json ? plan_json(e.arena, e.plan)
                                   : plan_text(e.arena, e.plan);
        if (!write_file(o->output ? o->output : "-", text, strlen(text), &why))
            code = report_fault(&why);
    }
    engine_close(&e);
    return code;
}
