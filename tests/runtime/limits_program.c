/* SPDX-License-Identifier: Apache-2.0 */
/* A program that sets one limit of the system for itself and uses the CPU device:
 *
 *     limits_program LIMIT VALUE first|opened|later
 *         matmuls; the limit comes before, after the device is open, or after the first one
 *     limits_program LIMIT VALUE exec PROGRAM...  becomes another program under the limit
 *
 * It prints "right", or "refused: " with the library's sentence. If the limit is a soft one, it is then
 * lifted, and the matmul must be right. Exit codes: 0 as said, 77 the machine cannot set the limit
 * (the reason is printed), 1 anything else. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <zemm/zemm.h>

enum { SKIP = 77, MEGABYTE = 1 << 20 };

static int skip(const char *what) {
    printf("skipped: %s: %s\n", what, strerror(errno));
    exit(SKIP);
}

static void need(int result, const char *what) {
    if (result)
        skip(what);
}

/* kB that a line of /proc/self/status says. */
static rlim_t used(const char *name) {
    char line[256];
    unsigned long long found = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (!file)
        skip("/proc/self/status");
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            sscanf(line + strlen(name), ": %llu", &found);
    fclose(file);
    return (rlim_t)found << 10;
}

/* Limits that a program can lift again. */
static const struct {
    const char *name;
    int resource;
    const char *counted; /* VALUE is added to it */
    rlim_t unit;
} soft[] = {
    {"as", RLIMIT_AS, "VmSize", 1024},   {"data", RLIMIT_DATA, "VmData", 1024},
    {"fsize", RLIMIT_FSIZE, NULL, 1024}, {"stack", RLIMIT_STACK, NULL, 1024},
    {"nofile", RLIMIT_NOFILE, NULL, 1},  {"memlock", RLIMIT_MEMLOCK, NULL, 1024},
    {"nproc", RLIMIT_NPROC, NULL, 1},
};

/* Takes all memory that malloc() can still give in blocks of this size and larger ones. */
static void **taken;
static void exhaust(size_t smallest) {
    for (size_t size = MEGABYTE; size >= smallest; size /= 2)
        for (void **block; (block = malloc(size));) {
            *block = taken;
            taken = block;
        }
}
static void give_back(void) {
    while (taken) {
        void **next = *taken;
        free(taken);
        taken = next;
    }
}

static int set_soft(const char *name, long value, int lift) {
    for (size_t i = 0; i < sizeof soft / sizeof *soft; i++) {
        struct rlimit limit;
        if (strcmp(name, soft[i].name))
            continue;
        need(getrlimit(soft[i].resource, &limit), name);
        limit.rlim_cur = limit.rlim_max;
        if (!lift) {
            rlim_t wanted = (rlim_t)value * soft[i].unit + (soft[i].counted ? used(soft[i].counted) : 0);
            if (soft[i].resource == RLIMIT_NPROC && geteuid() == 0) /* root has no such limit */
                need(setgid(54321) || setuid(54321), "setuid");
            limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        }
        need(setrlimit(soft[i].resource, &limit), name);
        return 1;
    }
    return 0;
}

/* Refuses one function of the system. */
static void without_call(long number) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number == SYS_clone3 ? ENOSYS : EPERM)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
    need((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program), "seccomp");
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY);
    need(file < 0 || write(file, text, strlen(text)) < 0, path);
    close(file);
}

/* A control group of its own, with the file that limits it in version 1 or 2. The test removes it. */
static void set_group(const char *controller, const char *in_1, const char *in_2, const char *text) {
    char folder[256], own[32];
    const int is_2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/%s/zemm_limits_%s", is_2 ? "" : controller, controller);
    need(mkdir(folder, 0755) && errno != EEXIST, folder);
    write_file(folder, is_2 ? in_2 : in_1, text);
    snprintf(own, sizeof own, "%d", getpid());
    write_file(folder, "cgroup.procs", own);
}

static void set_limit(const char *name, long value) {
    static const struct {
        const char *name;
        long number;
    } calls[] = {
        {"memfd_create", SYS_memfd_create},
        {"mlock", SYS_mlock},
        {"sched_setaffinity", SYS_sched_setaffinity},
        {"sched_getaffinity", SYS_sched_getaffinity},
        {"clone3", SYS_clone3},
        {"prlimit64", SYS_prlimit64},
        {"madvise", SYS_madvise},
        {"membarrier", SYS_membarrier},
    };
    char text[64];
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(name, calls[i].name)) {
            without_call(calls[i].number);
            return;
        }
    if (set_soft(name, value, 0))
        return;
    if (!strcmp(name, "none") || !strcmp(name, "thread"))
        return;
    if (!strcmp(name, "exhausted")) {
        set_soft("data", 0, 0);
        exhaust((size_t)value);
        return;
    }
    if (!strcmp(name, "mdwe")) {
        need(prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0), "PR_SET_MDWE");
    } else if (!strcmp(name, "readonly")) {
        struct {
            uint64_t set, clear, propagation, user;
        } attributes = {1 /* MOUNT_ATTR_RDONLY */, 0, 0, 0};
        need((int)syscall(442 /* mount_setattr */, AT_FDCWD, "/", 0x8000 /* AT_RECURSIVE */, &attributes,
                          sizeof attributes),
             "mount_setattr");
    } else if (name[0] == '/') {
        need(mount("none", name, "tmpfs", MS_RDONLY, NULL), name); /* an empty folder */
    } else if (!strcmp(name, "cpu")) {
        snprintf(text, sizeof text, "%ld", value * 1000); /* of 100,000 us */
        set_group("cpu", "cpu.cfs_quota_us", "cpu.max", text);
    } else if (!strcmp(name, "memory")) {
        snprintf(text, sizeof text, "%ld", value << 10);
        set_group("memory", "memory.limit_in_bytes", "memory.max", text);
    } else {
        printf("no limit %s\n", name);
        exit(1);
    }
}

/* Products of ones and twos. Functions return the sentence of a call that failed, or null. */
static zemm_engine_t engine;
static zemm_stream_t stream;

struct product {
    zemm_dim_t rows, size;
    zemm_data_type_t type;
    zemm_memory_desc_t descs[3];
    zemm_exec_arg_t args[3]; /* src, weights, dst */
    zemm_primitive_desc_t pd;
    zemm_primitive_t matmul;
};
static float result[300 * 512];

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        if ((call) != zemm_success)                                                                          \
            return zemm_last_error();                                                                        \
    } while (0)

static const char *open_device(void) {
    if (!engine)
        TRY(zemm_engine_create(&engine, zemm_cpu, 0));
    if (!stream)
        TRY(zemm_stream_create(&stream, engine, zemm_stream_default_flags));
    return NULL;
}

static const char *make(struct product *p) {
    static uint32_t numbers[2][2][512 * 512];
    uint32_t *ones = numbers[p->type == zemm_f32][0], *twos = numbers[p->type == zemm_f32][1];
    static const int places[3] = {ZEMM_ARG_SRC, ZEMM_ARG_WEIGHTS, ZEMM_ARG_DST};
    void *data[3] = {ones, twos, result};
    for (int i = 0; i < 512 * 512; i++) {
        ones[i] = p->type == zemm_f32 ? 0x3f800000 : 0x01010101;
        twos[i] = p->type == zemm_f32 ? 0x40000000 : 0x02020202;
    }
    const char *why = open_device();
    if (why)
        return why;
    for (int i = 0; i < 3; i++) {
        zemm_dims_t dims = {i == 1 ? p->size : p->rows, p->size};
        TRY(zemm_memory_desc_create_with_tag(&p->descs[i], 2, dims, i == 2 ? zemm_f32 : p->type, zemm_ab));
        TRY(zemm_memory_create(&p->args[i].memory, p->descs[i], engine, data[i]));
        p->args[i].arg = places[i];
    }
    TRY(zemm_matmul_primitive_desc_create(&p->pd, engine, p->descs[0], p->descs[1], NULL, p->descs[2], NULL));
    TRY(zemm_primitive_create(&p->matmul, p->pd));
    return NULL;
}

static void unmake(struct product *p) {
    zemm_primitive_destroy(p->matmul);
    zemm_primitive_desc_destroy(p->pd);
    for (int i = 0; i < 3; i++) {
        zemm_memory_destroy(p->args[i].memory);
        zemm_memory_desc_destroy(p->descs[i]);
    }
}

static const char *multiply(struct product *p, int times) {
    memset(result, 0, sizeof result);
    for (int i = 0; i < times; i++)
        TRY(zemm_primitive_execute(p->matmul, stream, 3, p->args));
    TRY(zemm_stream_wait(stream));
    for (int i = 0; i < p->rows * p->size; i++)
        if (result[i] != 2 * (float)p->size) {
            printf("wrong: %g at %d of %ld x %ld, type %d\n", (double)result[i], i, (long)p->rows,
                   (long)p->size, (int)p->type);
            exit(1);
        }
    return NULL;
}

/* Large and small launches of products that stay, then of others, which have other kernels. */
static struct product kept[2];
static const char *use(int is_all) {
    struct product others[] = {{.rows = 300, .size = 512, .type = zemm_s8},
                               {.rows = 1, .size = 512, .type = zemm_s8}};
    const char *why = NULL;
    for (int i = 0; i < 2 && !why; i++) {
        const struct product fresh = {.rows = i ? 8 : 300, .size = i ? 8 : 512, .type = zemm_f32};
        if (!kept[i].matmul) {
            unmake(&kept[i]);
            kept[i] = fresh;
            why = make(&kept[i]);
        }
    }
    for (int round = 0; round < 20 && !why; round++)
        why = multiply(&kept[round % 2], 1 + round);
    for (int i = 0; i < 2 && is_all && !why; i++) {
        why = make(&others[i]);
        if (!why)
            why = multiply(&others[i], 1);
        unmake(&others[i]);
    }
    return why;
}

static int report(const char *why) {
    printf("%s%s\n", why ? "refused: " : "right", why ? why : "");
    return why && !*why;
}

static void *use_in_thread(void *result) {
    *(int *)result = report(use(1));
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 1;
    const char *name = argv[1], *when = argv[3];
    const long value = atol(argv[2]);
    int failed = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (name[0] == '/' || !strcmp(name, "readonly"))
        need(unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "unshare");
    if (!strcmp(when, "later") && report(use(0)))
        return 1;
    if (!strcmp(when, "opened") && report(open_device()))
        return 1;
    set_limit(name, value);
    if (!strcmp(when, "exec")) {
        execvp(argv[4], argv + 4);
        skip(argv[4]);
    }
    if (!strcmp(name, "thread")) {
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        need(pthread_attr_setstacksize(&attributes, (size_t)value << 10), "stack size");
        need(pthread_create(&thread, &attributes, use_in_thread, &failed), "thread");
        pthread_join(thread, NULL);
        return failed;
    }
    const char *why = use(1);
    if (report(why))
        return 1;
    give_back();
    if (!strcmp(name, "exhausted"))
        name = "data";
    if (!why || !set_soft(name, value, 1))
        return 0;
    why = use(1);
    if (why)
        printf("still refused: %s\n", why);
    return why != NULL;
}
