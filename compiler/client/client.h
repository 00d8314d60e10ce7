/* client.h: the commands that attnc.h has, in a program on a terminal. Uses
 * the library as any other program does, by attnc.h alone.
 *
 * In:  the words of a command, stdin.
 * Out: its results on stdout; messages and a line of progress on stderr. */
#ifndef ATTNC_CLIENT_H
#define ATTNC_CLIENT_H

/* Runs a command of attnc_command(). Returns an exit code. */
int client_report(const char *const *words);

#endif
