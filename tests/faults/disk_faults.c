/* Preloaded into the command: counts what it changes on the disk below one folder, and makes one of these changes
   go wrong. FAULT_UNDER is the folder, FAULT_AT the number of the change (from 1), FAULT_KIND what happens then:
   kill-before, kill-after, torn (half of a write, then killed), full (no space from then on), error (this one alone). FAULT_COUNT
   is where to say how many there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

static atomic_int changes;

static int is(const char *kind) {
    const char *wanted = getenv("FAULT_KIND");
    return wanted && strcmp(wanted, kind) == 0;
}

static int below(const char *path) {
    const char *under = getenv("FAULT_UNDER");
    return path && under && strncmp(path, under, strlen(under)) == 0;
}

static int fd_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path);
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a change. Tells whether it is to go wrong. */
static int hit(int needs_space) {
    const char *wanted = getenv("FAULT_AT");
    int at = wanted ? atoi(wanted) : 0, now = ++changes;
    if (is("full")) {
        if (needs_space && at && now >= at) { errno = ENOSPC; return 1; }
        return 0;
    }
    if (now != at) return 0;
    if (is("kill-before")) die();
    if (is("error")) { errno = EIO; return 1; }
    return 0;
}

static void after(void) {
    const char *wanted = getenv("FAULT_AT");
    if (is("kill-after") && wanted && changes == atoi(wanted)) die();
}

/* Says how many changes there were, at the end of a run that comes through. */
__attribute__((destructor)) static void tell(void) {
    const char *path = getenv("FAULT_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%d", changes);
        fclose(file);
    }
}

#define CHANGE(type, condition, needs_space, call)        \
    do {                                                  \
        if (!(condition)) return call;                    \
        if (hit(needs_space)) return -1;                  \
        type result = call;                               \
        int error = errno;                                \
        after();                                          \
        errno = error;                                    \
        return result;                                    \
    } while (0)

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    CHANGE(int, (flags & O_CREAT) && below(path), 1, REAL(int, "open64", const char *, int, ...)(path, flags, mode));
}

ssize_t write(int fd, const void *bytes, size_t count) {
    ssize_t (*real)(int, const void *, size_t) = REAL(ssize_t, "write", int, const void *, size_t);
    if (fd > 2 && fd_below(fd) && is("torn") && getenv("FAULT_AT") && changes + 1 == atoi(getenv("FAULT_AT"))) {
        real(fd, bytes, count / 2);
        die();
    }
    CHANGE(ssize_t, fd > 2 && fd_below(fd), 1, real(fd, bytes, count));
}

int fsync(int fd) { CHANGE(int, fd_below(fd), 0, REAL(int, "fsync", int)(fd)); }

int fchmod(int fd, mode_t mode) { CHANGE(int, fd_below(fd), 0, REAL(int, "fchmod", int, mode_t)(fd, mode)); }

int unlink(const char *path) { CHANGE(int, below(path), 0, REAL(int, "unlink", const char *)(path)); }

int rename(const char *from, const char *to) {
    CHANGE(int, below(to), 0, REAL(int, "rename", const char *, const char *)(from, to));
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
    CHANGE(int, below(to), 1, REAL(int, "linkat", int, const char *, int, const char *, int)(from_fd, from, to_fd, to, flags));
}
