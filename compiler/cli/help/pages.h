/* pages.h: what help and the manual say of commands, besides options.c. */
#ifndef ATTNC_CLI_PAGES_H
#define ATTNC_CLI_PAGES_H

#include "cli/options/options.h"

enum { PageExamples = 3 };

typedef struct {
    const char *about; /* a paragraph */
    struct {
        const char *line, *what; /* of shell; what it is for */
    } example[PageExamples];
} Page;
extern const Page pages[Commands]; /* in the order of commands */

typedef struct { /* which commands can end so */
    int code, commands;
    const char *meaning;
} ExitRow;
extern const ExitRow exit_table[];
extern const int n_exits;

extern const char *const group_title[OptionGroups];

/* What stands between an option and its value: "=", " " or nothing. */
const char *option_joint(const Option *row);
const char *option_end(const Option *row); /* and behind the value: "]" */

#endif
