/* cmd_completion.c: attnc completion. Prints scripts with which a shell
 * completes commands, options and their values. They are generated from the
 * rows of commands.h and options.c: each row becomes one line for all commands
 * that accept it. */
#include <string.h>

#include "machine/target.h"
#include "passes/passes.h"
#include "cli/help/pages.h"

/* ---- choices ---- */
static void add_passes(Arena *a, Texts *to)
{
    for (int i = 0; i < n_passes; i++)
        vec_push(a, to, passes[i].name);
}

static void add_targets(Arena *a, Texts *to)
{
    const char *name;
    vec_push(a, to, "native");
    for (int i = 0; (name = target_name(i)); i++)
        vec_push(a, to, name);
}

static void add_fields(Arena *a, Texts *to)
{
    const char *key;
    for (int i = 0; (key = spec_field_key(i)); i++)
        vec_push(a, to, arena_printf(a, "%s=", key));
}

static void add_commands(Arena *a, Texts *to)
{
    for (int i = 0; i < n_commands; i++)
        vec_push(a, to, commands[i].name);
}

static void add_models(Arena *a, Texts *to)
{
    *to = new_words(a);
}

static bool completes_operand(const Option *row)
{
    return row->name[0] != '-';
}

/* True if `what` is the placeholder of the option's value, or the name of the
 * operand. */
static bool takes(const Option *row, const char *what)
{
    const char *it = completes_operand(row) ? row->name : row->takes;
    return it && strcmp(it, what) == 0;
}

/* Returns the values to suggest. There are none if the value is a file or can
 * be anything. */
static Texts choices(Arena *a, const Option *row)
{
    static const struct {
        const char *takes;
        void (*add)(Arena *a, Texts *to);
    } lists[] = {
        { "PASS", add_passes },      { "TARGET", add_targets },
        { "KEY=VALUE", add_fields }, { "COMMAND", add_commands },
        { "MODEL", add_models },
    };
    Texts found = { 0 };
    if (strcmp(row->name, "--skip") == 0)
        vec_push(a, &found, "all");
    for (int i = 0; i < row->n_words; i++)
        vec_push(a, &found, row->words[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (takes(row, lists[i].takes))
            lists[i].add(a, &found);
    return found;
}

static const char *spaced(Arena *a, const Texts *words)
{
    Buffer b = { .arena = a };
    buffer_add(&b, "", 0);
    for (int i = 0; i < words->n; i++)
        buffer_printf(&b, "%s%s", i ? " " : "", words->at[i]);
    return b.n ? b.at : "";
}

/* Returns the names of a set of commands, each after `before` and before
 * `behind`, separated by `between`. */
static const char *names(Arena *a, int bits, const char *before,
                         const char *behind, const char *between)
{
    Buffer b = { .arena = a };
    for (int i = 0; i < n_commands; i++)
        if (commands[i].bit & bits)
            buffer_printf(&b, "%s%s%s%s", b.n ? between : "", before,
                          commands[i].name, behind);
    return b.at;
}

/* Quotes text within single quotes and puts a backslash before each character
 * that is in `special`. */
static const char *quoted(Arena *a, const char *text, const char *special)
{
    Buffer b = { .arena = a };
    for (buffer_add(&b, "", 0); *text; text++) {
        if (strchr(special, *text))
            buffer_add(&b, "\\", 1);
        if (*text == '\'')
            buffer_printf(&b, "'\\''");
        else
            buffer_add(&b, text, 1);
    }
    return b.n ? b.at : "";
}

/* ---- bash ---- */
static void print_bash_options(Arena *a)
{
    puts("    case $command in");
    for (int k = 0; k < n_commands; k++) {
        Texts options = { 0 };
        for (int i = 0; i < n_options; i++) {
            const Option *row = &option_table[i];
            const bool joined = option_needs(row) && row->name[1] == '-';
            if (!completes_operand(row) && (row->commands & commands[k].bit))
                vec_push(a, &options,
                         arena_printf(a, "%s%s", row->name, joined ? "=" : ""));
        }
        printf("    %s) options='%s' ;;\n", commands[k].name,
               spaced(a, &options));
    }
    puts("    esac");
}

/* Prints the lines that suggest values or files for an option. */
static void print_bash_value(Arena *a, const Option *row)
{
    const Texts words = choices(a, row);
    if (words.n)
        printf(" words='%s'", spaced(a, &words));
    else if (takes(row, "SPEC"))
        printf(" specs=1");
    else if (takes(row, "FILE"))
        printf(" files=1");
}

static void print_bash_values(Arena *a)
{
    puts("    case \"$command $option\" in");
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (!option_needs(row) || completes_operand(row))
            continue;
        printf("    %s)\n       ",
               names(a, row->commands, "'", arena_printf(a, " %s'", row->name),
                     " | "));
        print_bash_value(a, row);
        puts(" ;;");
    }
    puts("    *) option= ;;\n"
         "    esac");
}

static void print_bash_operands(Arena *a)
{
    puts("    [ -n \"$option\" ] || case $command in");
    for (int k = 0; k < n_commands; k++) {
        printf("    %s)", commands[k].name);
        for (int i = 0; i < n_options; i++)
            if (completes_operand(&option_table[i])
                && (option_table[i].commands & commands[k].bit))
                print_bash_value(a, &option_table[i]);
        puts(" ;;");
    }
    puts("    esac");
}

/* After the spec, attnc watch takes the options of another command. */
static const char watched_in_bash[] =
    "    if [ \"$command\" = watch ] && [ \"$COMP_CWORD\" -gt 2 ] &&\n"
    "        [[ $cur == -* || $prev == -* || $cur == = || $prev == = ]]\n"
    "    then\n"
    "        command=bench\n"
    "        [[ \" ${COMP_WORDS[*]} \" == *' run '* ]] && command=run\n"
    "    fi\n";

static void print_bash(Arena *a)
{
    printf(
        "# Completion of attnc " ATTNC_VERSION " in bash, made by: attnc "
        "completion bash\n"
        "_attnc()\n"
        "{\n"
        "    local IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]}\n"
        "    local prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS"
        "[1]}\n"
        "    local option= prefix= options= words= files= specs=\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        COMPREPLY=($(compgen -W '%s --help --version' -- "
        "\"$cur\"))\n"
        "        return\n"
        "    fi\n"
        "%s"
        "    # --color=al is three words, but where COMP_WORDBREAKS lacks =\n"
        "    if [[ $cur == --*=* ]]; then\n"
        "        option=${cur%%%%=*} prefix=${cur%%%%=*}= cur=${cur#*=}\n"
        "    elif [ \"$cur\" = = ]; then\n"
        "        option=$prev cur=\n"
        "    elif [ \"$prev\" = = ]; then\n"
        "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    else\n"
        "        option=$prev\n"
        "    fi\n",
        names(a, CmdAll, "", "", " "), watched_in_bash);
    print_bash_options(a);
    print_bash_values(a);
    print_bash_operands(a);
    puts("    if [ -z \"$option\" ] && [[ $cur == -* ]]; then\n"
         "        words=$options files= specs=\n"
         "    fi\n"
         "    COMPREPLY=($(compgen -P \"$prefix\" -W \"$words\" -- "
         "\"$cur\"))\n"
         "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> "
         "/dev/null\n"
         "    IFS=$'\\n'\n"
         "    [ -z \"$files$specs\" ] || compopt -o filenames 2> /dev/null\n"
         "    [ -z \"$files\" ] ||\n"
         "        COMPREPLY+=($(compgen -P \"$prefix\" -f -- \"$cur\"))\n"
         "    [ -z \"$specs\" ] ||\n"
         "        COMPREPLY+=($(compgen -P \"$prefix\" -d -- \"$cur\")\n"
         "                    $(compgen -P \"$prefix\" -f -X '!*.y*ml' -- "
         "\"$cur\"))\n"
         "}\n"
         "complete -F _attnc attnc");
}

/* ---- zsh ---- */

/* Prints the line of a row. `operand` is the operand's number, from 1; 0 if the
 * row is an option. */
static void print_zsh_row(Arena *a, const Option *row, int operand)
{
    static const char special[] = "\\[]:";
    const Texts words = choices(a, row);
    const char *what = completes_operand(row) ? row->name : row->takes;
    const bool many = row->kind == List || row->kind == Rest;
    if (operand && many)
        printf(" \\\n            '*");
    else if (operand)
        printf(" \\\n            '%d", operand);
    else
        printf(" \\\n            '%s%s%s[%s]", row->kind == List ? "*" : "",
               row->name,
               !row->takes           ? ""
               : row->kind == Maybe  ? "=-"
               : row->name[1] == '-' ? "="
               : row->name[1] == 'O' ? "-"
                                     : "+",
               quoted(a, row->help, special));
    if (what && (operand || row->takes))
        printf("%s:%s:", row->kind == Maybe ? ":" : "",
               quoted(a, what, special));
    if (words.n)
        printf("(%s)", quoted(a, spaced(a, &words), special));
    else if (takes(row, "SPEC"))
        printf("_files -g \"*.(yaml|yml)\"");
    else if (takes(row, "FILE"))
        printf("_files");
    putchar('\'');
}

static void print_zsh(Arena *a)
{
    printf("#compdef attnc\n"
           "# Completion of attnc " ATTNC_VERSION " in zsh, made by: attnc "
           "completion zsh\n"
           "_attnc()\n"
           "{\n"
           "    local -a commands=(");
    for (int i = 0; i < n_commands; i++)
        printf("\n        '%s:%s'", commands[i].name,
               quoted(a, commands[i].summary, "\\:"));
    puts("\n    )\n"
         "    if (( CURRENT == 2 )); then\n"
         "        _describe command commands\n"
         "        return\n"
         "    fi\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case $words[1] in");
    for (int k = 0; k < n_commands; k++) {
        printf("    %s)\n        _arguments", commands[k].name);
        for (int i = 0, operands = 0; i < n_options; i++)
            if (option_table[i].commands & commands[k].bit)
                print_zsh_row(a, &option_table[i],
                              completes_operand(&option_table[i]) ? ++operands
                                                                  : 0);
        puts(" ;;");
    }
    puts("    esac\n"
         "}\n"
         "# read from $fpath it is the function's first call; sourced it is "
         "not\n"
         "if [[ $funcstack[1] == _attnc ]]; then\n"
         "    _attnc \"$@\"\n"
         "else\n"
         "    compdef _attnc attnc\n"
         "fi");
}

/* ---- fish ---- */
static void print_fish_row(Arena *a, const Option *row)
{
    const Texts words = choices(a, row);
    printf("complete -c attnc -n '__attnc_is %s'",
           names(a, row->commands, "", "", " "));
    if (!completes_operand(row)) {
        const char *name = row->name + 1 + (row->name[1] == '-');
        printf(" -%c '%s'",
               row->name[1] == '-' ? 'l'
               : name[1]           ? 'o'
                                   : 's',
               name);
    }
    if (words.n)
        printf(" %s-a '%s'", row->takes && *row->takes ? "-x " : "",
               quoted(a, spaced(a, &words), "\\"));
    else if (takes(row, "SPEC"))
        printf(" -k -a '(__fish_complete_suffix .yaml)'");
    else if (takes(row, "FILE"))
        printf(completes_operand(row) ? " -F" : " -r -F");
    else if (option_needs(row))
        printf(" -x");
    if (*row->help)
        printf(" -d '%s'", quoted(a, row->help, "\\"));
    putchar('\n');
}

static void print_fish(Arena *a)
{
    puts("# Completion of attnc " ATTNC_VERSION " in fish, made by: attnc "
         "completion fish\n"
         "function __attnc_is # COMMAND ..: one of them is the command\n"
         "    set -l words (commandline -opc)\n"
         "    test (count $words) -gt 1; and contains -- $words[2] $argv\n"
         "end\n"
         "function __attnc_none\n"
         "    test (count (commandline -opc)) -eq 1\n"
         "end\n"
         "complete -c attnc -f");
    for (int i = 0; i < n_commands; i++)
        printf("complete -c attnc -n __attnc_none -a %s -d '%s'\n",
               commands[i].name, quoted(a, commands[i].summary, "\\"));
    for (int i = 0; i < n_options; i++)
        print_fish_row(a, &option_table[i]);
}

int cmd_completion(const CompletionCommand *o)
{
    static void (*const print[])(Arena *a) = { print_bash, print_zsh,
                                               print_fish };
    Arena *a = arena_new();
    print[o->shell](a);
    arena_free(a);
    return ExitDone;
}
