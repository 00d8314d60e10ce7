/* interrupt.c: Ctrl-C while other programs work for attnc.
 *
 * They are in process groups of their own, so the terminal's signals reach
 * attnc alone. The first one is only kept: who waits sees it, ends the others
 * in order and cleans up. A second one ends all at once.                     */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <sys/types.h>

#include "backend/backend.h"

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { Ends = sizeof ends / sizeof *ends, MostGroups = 256 };

static volatile sig_atomic_t stop; /* the signal that came, or 0 */
static volatile sig_atomic_t groups[MostGroups];
static struct sigaction before[Ends];
static int depth;

static void on_end(int sig)
{
    if (!stop) {
        stop = sig;
        return;
    }
    for (int i = 0; i < MostGroups; i++)
        if (groups[i] > 0)
            kill(-(pid_t)groups[i], SIGKILL);
    for (int i = 0; i < Ends; i++)
        if (ends[i] == sig)
            sigaction(sig, &before[i], NULL);
    raise(sig);
}

void interrupt_watch(void)
{
    struct sigaction act = { .sa_handler = on_end };
    if (depth++)
        return;
    stop = 0;
    for (int i = 0; i < Ends; i++) {
        sigaction(ends[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(ends[i], &act, NULL);
    }
}

bool interrupted(void)
{
    return stop != 0;
}

void interrupt_end(void)
{
    if (--depth)
        return;
    for (int i = 0; i < Ends; i++)
        sigaction(ends[i], &before[i], NULL);
    if (stop)
        raise(stop);
}

void interrupt_takes(int64_t group)
{
    for (int i = 0; i < MostGroups; i++)
        if (groups[i] == 0) {
            groups[i] = (sig_atomic_t)group;
            return;
        }
}

void interrupt_leaves(int64_t group)
{
    for (int i = 0; i < MostGroups; i++)
        if (groups[i] == (sig_atomic_t)group)
            groups[i] = 0;
}
