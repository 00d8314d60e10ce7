/* cmd_plan.c: attnc plan. Prints a model's costs, also over several ranks, or
 * draws its arena. */
#include "draw/arena_picture.h"
#include "cli/options/options.h"

static const char *plan_said(const Engine *e, const Options *o)
{
    switch (o->format) {
    case PlanJson: return plan_json(e->arena, e->plan);
    case PlanSvg:  return draw_arena(e->arena, e->plan);
    default:       return plan_text(e->arena, e->plan);
    }
}

int plan_report(const Options *o, FILE *out)
{
    EngineOptions options = engine_options(CmdPlan, &o->model, &o->code);
    Engine e = { .arena = NULL };
    Link link;
    if (!o->model.ranks != !o->link)
        fail(ExitUsage, "--ranks N and --link LATENCY,RATE belong together, as "
                        "--ranks=4 --link=20us,10Gbit/s");
    if (o->model.sum_ranks && !o->link)
        fail(ExitUsage, "--sum-ranks needs ranks: add --ranks=N and "
                        "--link=LATENCY,RATE");
    if (o->code.threads > 0 && !o->link)
        fail(ExitUsage, "--threads are those of each rank: add --ranks=N and "
                        "--link=LATENCY,RATE");
    if (o->link)
        link = link_of(o->link, o->model.ranks, engine_threads(&options));
    if (o->link && o->format == PlanSvg)
        fail(ExitUsage, "--format=svg draws the arena: leave out --ranks");
    const int code = engine_plan(&e, &options);
    if (!code && o->link)
        ranks_print(&e, &link, o->format == PlanJson, out);
    else if (!code)
        fputs(plan_said(&e, o), out);
    engine_close(&e);
    return code;
}
