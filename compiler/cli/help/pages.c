/* pages.c: the tables for help and manual pages: texts, exit codes,
 * headings. */
#include "cli/help/pages.h"

const Page pages[Commands] = {
#define PAGE(id, about, ...) [Nth##id] = { about, PAGE_EXAMPLES(__VA_ARGS__) },
#define PAGE_EXAMPLES(a, b, c, d, e, f) { { a, b }, { c, d }, { e, f } }
#include "cli/help/page_rows.h"
};

enum {
    ReadsSpec = CmdSweep | CmdCompare | CmdSpec | CmdTensors | CmdTune | CmdDiff
              | CmdWatch,
    HasBackend = CmdSweep | CmdCompare | CmdLoads | CmdWatch | CmdCompile
               | CmdTune | CmdRecords
};

const ExitRow exit_table[] = {
    { ExitDone, CmdAll, "done" },
    { ExitNegative, CmdVerify, "an operation exceeds its error limit" },
    { ExitNegative, CmdQuantize, "--keep is not met" },
    { ExitNegative, CmdCache, "verify: a file is damaged" },
    { ExitNegative, CmdDiff, "there is a difference" },
    { ExitNegative, CmdImport, "--check: the results differ" },
    { ExitUsage, CmdAll, "usage: unknown option, value out of range .." },
    { ExitInput, ReadsSpec | CmdRecords | CmdTokens | CmdImport | CmdMerge,
      "invalid input: a spec, weights, a vocabulary, a line .." },
    { ExitIO, CmdAll, "a file, stdin or stdout cannot be read or written" },
    { ExitResource, CmdAll, "out of memory, or beyond a limit" },
    { ExitBackend, HasBackend,
      "back end: C compiler missing or failed, wrong processor" },
    { ExitBackend, CmdImport, "--check=PYTHON: Python is missing or failed" },
    { ExitInternal, CmdAll, "a bug of attnc: please report it" },
};
const int n_exits = sizeof exit_table / sizeof *exit_table;

const char *const group_title[OptionGroups] = {
    [GroupModel] = "Model",         [GroupLines] = "Lines",
    [GroupPrompt] = "Prompt",       [GroupChat] = "Chat",
    [GroupSearch] = "Search",       [GroupSampling] = "Sampling",
    [GroupBatch] = "Batch",         [GroupTensors] = "Tensors",
    [GroupAttention] = "Attention", [GroupWork] = "Workload",
    [GroupTuning] = "Tuning",       [GroupRecords] = "Records",
    [GroupCache] = "Cache",         [GroupOutput] = "Output",
    [GroupCode] = "Code",           [GroupPasses] = "Passes",
    [GroupGeneral] = "General",
};
