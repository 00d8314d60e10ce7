/* pages.h: texts of help and manual pages that are not in option_table.h. */
#ifndef ATTNC_CLI_PAGES_H
#define ATTNC_CLI_PAGES_H

#include "cli/options/options.h"

enum { PageExamples = 3 };

typedef struct {
    const char *about; /* a paragraph about the command */
    struct {
        const char *line, *what; /* a shell command; its purpose */
    } example[PageExamples];
} Page;
extern const Page pages[Commands]; /* pages in the order of commands[] */

typedef struct { /* an exit code and the commands that can return it */
    int code, commands;
    const char *meaning;
} ExitRow;
extern const ExitRow exit_table[];
extern const int n_exits;

extern const char *const group_title[OptionGroups];

#endif
