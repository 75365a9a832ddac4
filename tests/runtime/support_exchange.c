/* SPDX-License-Identifier: Apache-2.0 */
/* exchange STEP ONE OTHER WATCHED PROGRAM...: runs a program, and before its STEP-th system call that names
 * something below the folder WATCHED, or below an open folder, the files ONE and OTHER change places. Prints
 * the number of such calls to stderr. As a stranger would, who always is in time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The address of the path that a system call gets; 0 if it gets none. */
static unsigned long path_of(const struct user_regs_struct *r) {
    switch (r->orig_rax) {
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_readlink:
    case SYS_mkdir:
    case SYS_rename:
    case SYS_unlink:
    case SYS_rmdir:
    case SYS_chmod:
    case SYS_statfs:
    case SYS_getxattr:
        return r->rdi;
    case SYS_openat:
    case SYS_openat2:
    case SYS_newfstatat:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_readlinkat:
    case SYS_mkdirat:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_utimensat:
    case SYS_statx:
    case SYS_fchmodat:
        return r->rsi;
    case SYS_symlink:
        return r->rsi;
    case SYS_symlinkat:
        return r->rdx;
    }
    return 0;
}

static int is_watched(pid_t child, const struct user_regs_struct *r, const char *watched) {
    char path[PATH_MAX] = "";
    const unsigned long from = path_of(r);
    for (size_t at = 0; from && at < sizeof path - 1; at++) { /* a page behind it may be missing */
        struct iovec here = {path + at, 1}, there = {(void *)(from + at), 1};
        if (process_vm_readv(child, &here, 1, &there, 1, 0) != 1 || !path[at])
            break;
    }
    return !strncmp(path, watched, strlen(watched)) || (path[0] && path[0] != '/' && (int)r->rdi >= 0);
}

int main(int argc, char **argv) {
    long step = atol(argv[1]), number = 0;
    int status, entering = 1;
    const pid_t child = argc < 6 ? -1 : fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[5], argv + 5);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 125;
    ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    for (long signal = 0;;) {
        if (ptrace(PTRACE_SYSCALL, child, NULL, (void *)signal) || waitpid(child, &status, 0) != child)
            return 125;
        if (!WIFSTOPPED(status))
            break;
        signal = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
        if (signal)
            continue;
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, NULL, &registers);
        if (entering && is_watched(child, &registers, argv[4]) && number++ == step &&
            renameat2(AT_FDCWD, argv[2], AT_FDCWD, argv[3], RENAME_EXCHANGE)) {
            perror("the exchange");
            return 125;
        }
        entering = !entering;
    }
    fprintf(stderr, "\n%ld steps\n", number);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
