/* interrupt.c: handles Ctrl-C while attnc waits for child processes. Children
 * run in process groups of their own, so the terminal's signals reach only
 * attnc. The first signal is recorded; the code that waits sees it, stops the
 * children in order, and cleans up. A second signal ends everything at once. */
#define _DEFAULT_SOURCE /* setpgid, getppid; prctl is specific to Linux */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/progress.h"

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { Ends = sizeof ends / sizeof *ends, MostGroups = 256 };

/* global, because a signal handler has no argument for it */
static struct {
    volatile sig_atomic_t stop;               /* the recorded signal, or 0 */
    volatile sig_atomic_t groups[MostGroups]; /* process groups to kill; 0: free
                                               * entry */
    struct sigaction before[Ends];            /* signal actions to restore */
    int depth;                                /* number of interrupt_watch()
                                               * calls not yet ended */
    bool off;                                 /* signals are left alone */
    volatile sig_atomic_t asked;              /* interrupt_ask() was called */
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

/* Begins a call. The signal that ended an earlier one may have left the process
 * alive. */
static void begin_call(bool off)
{
    watch.off = off;
    watch.asked = false;
    watch.stop = 0;
}

void interrupts_off(void)
{
    begin_call(true);
}

void interrupts_on(void)
{
    begin_call(false);
}

void interrupt_ask(void)
{
    watch.asked = true;
}

void interrupt_watch(void)
{
    struct sigaction act = { .sa_handler = on_end };
    if (watch.depth++ || watch.off)
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
    return watch.stop || watch.asked;
}

void interrupt_end(void)
{
    if (--watch.depth || watch.off)
        return;
    for (int i = 0; i < Ends; i++)
        sigaction(ends[i], &watch.before[i], NULL);
    if (watch.stop)
        raise(watch.stop);
}

void interrupt_unwind(void)
{
    if (watch.depth == 0)
        return;
    watch.depth = 1;
    interrupt_end();
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
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGSEGV,
                                   SIGBUS, SIGILL,  SIGFPE, SIGABRT };
    child_begins();
    messages_to(NULL, NULL); /* to stderr */
    progress_to(NULL, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)parent)
        _exit(ExitInternal);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}
