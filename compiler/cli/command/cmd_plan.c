/* cmd_plan.c: attnc plan. Prints a model's costs, or draws its arena. */
#include <string.h>

#include "draw/arena_picture.h"
#include "cli/options/options.h"

const char *plan_said(const Engine *e, const Options *o)
{
    switch (o->format) {
    case PlanJson: return plan_json(e->arena, e->plan);
    case PlanSvg:  return draw_arena(e->arena, e->plan);
    default:       return plan_text(e->arena, e->plan);
    }
}

int cmd_plan(const Options *o)
{
    EngineOptions options = engine_options(CmdPlan, &o->model, &o->code);
    Engine e = { .arena = NULL };
    Fault why;
    int code = engine_plan(&e, &options);
    if (!code) {
        const char *text = plan_said(&e, o);
        if (!write_file(o->output ? o->output : "-", text, strlen(text), &why))
            code = report_fault(&why);
    }
    engine_close(&e);
    return code;
}
