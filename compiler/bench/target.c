/* target.c: `attnc bench --machine`: the figures that the default tilings
 * of this machine are made from, beside what is measured.                    */
#include "bench/bench.h"

#include <math.h>

typedef struct {
    const char *name;
    double row, here;            /* here NAN: not known */
    int places;                  /* of what is here */
} Figure;

enum { Figures = 6 };

/* Rates of one thread, in cycles of its clock. */
static void figures_of(const Machine *m, const Target *t, Figure f[Figures])
{
    const Rates *r = machine_rates(m, 1);
    const double cycle = m->clock > 0 ? m->clock : NAN;
    f[0] = (Figure){ "whole FMAs a cycle", t->fmas,
                     r->fma / 2 / t->width / cycle, 2 };
    for (int i = LevelL1; i < LevelMemory; i++)
        f[1 + i] = (Figure){ (const char *[]){ "KiB of L1", "KiB of L2",
                                               "KiB of L3" }[i],
                             (double)(t->cache[i] >> 10),
                             (double)(m->cache[i] >> 10), 0 };
    f[4] = (Figure){ "bytes a cycle from L3", t->near,
                     r->read[LevelL3] / cycle, 1 };
    f[5] = (Figure){ "bytes a cycle from memory", t->far,
                     r->read[LevelMemory] / cycle, 1 };
}

void target_print(const Machine *m, const Target *t, bool markdown, FILE *out)
{
    Figure f[Figures];
    const char *bar = markdown ? "|" : "";
    figures_of(m, t, f);
    fprintf(out, "\nTarget %s, %s.\n\n", t->name, t->met ? t->met
            : "which nobody has met: its figures are the maker's");
    fprintf(out, "%s%-26s%s%10s%s%10s%s\n", bar, "figure", bar, "row", bar,
            "here", bar);
    if (markdown)
        fputs("|---|---:|---:|\n", out);
    for (int i = 0; i < Figures; i++) {
        fprintf(out, "%s%-26s%s%10.0f%s", bar, f[i].name, bar, f[i].row, bar);
        if (isnan(f[i].here))
            fprintf(out, "%10s%s\n", "-", bar);
        else
            fprintf(out, "%10.*f%s\n", f[i].places, f[i].here, bar);
    }
    fputs("\nWhere they differ by half, or attnc tune finds more than 2 % over "
          "the default,\nthe row in machine/target.c is wrong.\n", out);
}
