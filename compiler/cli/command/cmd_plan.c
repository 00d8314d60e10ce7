/* cmd_plan.c: attnc plan. Prints a model's costs, or draws its arena. */
#include <string.h>

#include "draw/arena_picture.h"
#include "cli/options/options.h"

static const char *plan_as(Arena *a, const Plan *p, int format)
{
    switch (format) {
    case PlanJson: return plan_json(a, p);
    case PlanSvg:  return draw_arena(a, p);
    default:       return plan_text(a, p);
    }
}

int cmd_plan(const Options *o)
{
    EngineOptions options = engine_options(CmdPlan, &o->model, &o->code);
    Engine e = { .arena = NULL };
    Fault why;
    int code = engine_plan(&e, &options);
    if (!code) {
        const char *text = plan_as(e.arena, e.plan, o->format);
        if (!write_file(o->output ? o->output : "-", text, strlen(text), &why))
            code = report_fault(&why);
    }
    engine_close(&e);
    return code;
}
