/* interrupt.c: Ctrl-C while other programs work for attnc.
 *
 * They are in process groups of their own, so the terminal's signals reach
 * attnc alone. The first one is only kept: who waits sees it, ends the others
 * in order and cleans up. A second one ends all at once.                     */
#define _DEFAULT_SOURCE /* setpgid, getppid; prctl is Linux's */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend.h"

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { Ends = sizeof ends / sizeof *ends, MostGroups = 256 };

/* The process' own: a signal's handler gets no other argument. */
static struct {
    volatile sig_atomic_t stop;               /* the signal that came, or 0 */
    volatile sig_atomic_t groups[MostGroups]; /* to kill; 0: free */
    struct sigaction before[Ends];            /* interrupt_watch() */
    int depth;                                /* watches that are nested */
} watch;

static void on_end(int sig)
{
    if (!watch.stop) {
        watch.stop = sig;
        return;
    }
    for (int i = 0; i < MostGroups; i++)
        if (watch.groups[i] > 0)
            kill(-(pid_t)watch.groups[i], SIGKILL);
    for (int i = 0; i < Ends; i++)
        if (ends[i] == sig)
            sigaction(sig, &watch.before[i], NULL);
    raise(sig);
}

void interrupt_watch(void)
{
    struct sigaction act = { .sa_handler = on_end };
    if (watch.depth++)
        return;
    watch.stop = 0;
    for (int i = 0; i < Ends; i++) {
        sigaction(ends[i], NULL, &watch.before[i]);
        if (watch.before[i].sa_handler != SIG_IGN)
            sigaction(ends[i], &act, NULL);
    }
}

bool interrupted(void)
{
    return watch.stop != 0;
}

void interrupt_end(void)
{
    if (--watch.depth)
        return;
    for (int i = 0; i < Ends; i++)
        sigaction(ends[i], &watch.before[i], NULL);
    if (watch.stop)
        raise(watch.stop);
}

void interrupt_takes(int64_t group)
{
    for (int i = 0; i < MostGroups; i++)
        if (watch.groups[i] == 0) {
            watch.groups[i] = (sig_atomic_t)group;
            return;
        }
}

void interrupt_leaves(int64_t group)
{
    for (int i = 0; i < MostGroups; i++)
        if (watch.groups[i] == (sig_atomic_t)group)
            watch.groups[i] = 0;
}

void interrupt_child(int64_t parent)
{
    static const int usual[] = { SIGINT, SIGTERM, SIGHUP, SIGSEGV,
                                 SIGBUS, SIGILL,  SIGFPE, SIGABRT };
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)parent)
        _exit(ExitInternal);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        signal(usual[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}
