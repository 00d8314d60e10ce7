/* help.c: attnc help, by the rows of commands.h and of options.c. */
#include "cli/options.h"

static const char *const group_title[OptionGroups] = {
    [GroupModel] = "Model",         [GroupLines] = "Lines",
    [GroupPrompt] = "Prompt",       [GroupSearch] = "Search",
    [GroupSampling] = "Sampling",   [GroupTensors] = "Tensors",
    [GroupAttention] = "Attention", [GroupWork] = "Workload",
    [GroupTuning] = "Tuning",       [GroupRecords] = "Records",
    [GroupOutput] = "Output",       [GroupCode] = "Code",
    [GroupPasses] = "Passes",
};

static void print_option(FILE *out, const Option *row)
{
    bool is_long = row->name[1] == '-';
    char left[64];
    const char *between = is_long ? "=" : row->name[1] == 'O' ? "" : " ";
    snprintf(left, sizeof left, "%s%s%s", row->name, row->takes ? between : "",
             row->takes ? row->takes : "");
    fprintf(out, "  %-27s %s\n", left, row->help);
}

static void print_group(FILE *out, const Command *c, OptionGroup group)
{
    bool any = false;
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (row->group != group || !(row->commands & c->bit))
            continue;
        if (!any)
            fprintf(out, "\n%s:\n", group_title[group]);
        print_option(out, row);
        any = true;
    }
}

static void print_commands(FILE *out)
{
    fputs("usage: attnc COMMAND [options] SPEC\n"
          "A Transformer's spec (YAML) in, C out.\n\n",
          out);
    for (int i = 0; i < n_commands; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
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
    fprintf(out, "usage: attnc %s [options]%s%s\n%s\n", c->name,
            *c->takes ? " " : "", c->takes, c->summary);
    for (int group = GroupModel; group < OptionGroups; group++)
        print_group(out, c, (OptionGroup)group);
}
