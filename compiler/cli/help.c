/* help.c: attnc help, by the rows of commands.h and of options.c. */
#include "cli/options.h"

static const char *const group_title[OptionGroups] = {
    [GroupModel] = "Model",         [GroupLines] = "Lines",
    [GroupPrompt] = "Prompt",       [GroupSearch] = "Search",
    [GroupSampling] = "Sampling",   [GroupTensors] = "Tensors",
    [GroupAttention] = "Attention", [GroupWork] = "Workload",
    [GroupTuning] = "Tuning",       [GroupRecords] = "Records",
    [GroupOutput] = "Output",       [GroupCode] = "Code",
    [GroupPasses] = "Passes",       [GroupGeneral] = "General",
};

static void print_option(FILE *out, const Option *row)
{
    bool is_long = row->name[1] == '-';
    char left[64];
    const char *between = is_long ? "=" : row->name[1] == 'O' ? "" : " ";
    snprintf(left, sizeof left, "%s%s%s", row->name, row->takes ? between : "",
             row->takes ? row->takes : "");
    fprintf(out, "  %s%-27s%s %s\n", paint(out, PaintName), left,
            paint(out, PaintEnd), row->help);
}

static void print_head(FILE *out, const char *title)
{
    fprintf(out, "\n%s%s:%s\n", paint(out, PaintHead), title,
            paint(out, PaintEnd));
}

static void print_group(FILE *out, const Command *c, OptionGroup group)
{
    bool any = false;
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (row->group != group || !(row->commands & c->bit))
            continue;
        if (!any)
            print_head(out, group_title[group]);
        print_option(out, row);
        any = true;
    }
}

static void print_usage(FILE *out, const char *rest)
{
    fprintf(out, "%susage:%s attnc %s", paint(out, PaintHead),
            paint(out, PaintEnd), rest);
}

static void print_commands(FILE *out)
{
    print_usage(out, "COMMAND [options] SPEC\n"
                     "A Transformer's spec (YAML) in, C out.\n\n");
    for (int i = 0; i < n_commands; i++)
        fprintf(out, "  %s%-10s%s %s\n", paint(out, PaintName),
                commands[i].name, paint(out, PaintEnd), commands[i].summary);
    fputs("\nattnc help COMMAND lists its options; attnc --version says "
          "which attnc this is.\n",
          out);
}

void print_help(FILE *out, const Command *c)
{
    if (!c) {
        print_commands(out);
        return;
    }
    print_usage(out, c->name);
    fprintf(out, " [options]%s%s\n%s\n", *c->takes ? " " : "", c->takes,
            c->summary);
    for (int group = GroupOperands + 1; group < OptionGroups; group++)
        print_group(out, c, (OptionGroup)group);
}
