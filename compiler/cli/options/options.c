/* options.c: the tables of commands and options. command_line.c parses command
 * lines with them; help.c prints them. */
#include "cli/options/options.h"

/* ---- commands ---- */
const Command commands[] = {
#define COMMAND(word, id, takes, least, summary) \
    { #word, Cmd##id, takes, least, summary },
#include "cli/options/commands.h"
};
const int n_commands = sizeof commands / sizeof *commands;

/* ---- options ---- */
const char *const part_words[] = {
    "model",
#define PART(id, name, ...) name,
#include "emit/parts.h"
};
static const char *const json_formats[] = { "text", "json" };
static const char *const reference_pages[] = {
    "all",
#define REFERENCE(id, name, ...) name,
#include "spec/reference_pages.h"
};
/* Suggested values of options that accept any text. */
static const char *const dtypes[] = {
#define FORMAT(name, word, ...) word,
#define OWN_FORMAT(...)
#include "runtime/weights/format_rows.h"
};
static const char *const bench_formats[] = {
    [BenchTable] = "text",  [BenchJson] = "json", [BenchCsv] = "csv",
    [BenchMarkdown] = "md", [BenchSvg] = "svg",
};
static const char *const tune_formats[] = {
    [TuneLines] = "text", [TuneJson] = "json", [TuneSvg] = "svg"
};

const Option option_table[] = {
#define OWN(commands, member) commands, offsetof(Options, member)
#define AT                    OWN
#define ROW(kind, type, name, takes, ...) { name, takes, kind, __VA_ARGS__ },
#include "cli/options/option_table.h"
};
const int n_options = sizeof option_table / sizeof *option_table;

bool writes_itself(const Options *o)
{
    return o->shard != NULL;
}
