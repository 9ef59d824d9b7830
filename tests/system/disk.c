#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

/* Files below $DISK have no shared memory, and no locks either if $LOCKS is 'none'. */
static int on_disk(int fd) {
  const char *disk = getenv("DISK");
  char link[64], path[PATH_MAX];
  if (!disk || fd < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return strncmp(path, disk, strlen(disk)) == 0;
}
static int no_locks(void) { const char *locks = getenv("LOCKS"); return locks && !strcmp(locks, "none"); }

#define MMAP(name, offset) \
  void *name(void *at, size_t n, int prot, int flags, int fd, offset where) { \
    static void *(*real)(void *, size_t, int, int, int, offset); \
    if (!real) real = dlsym(RTLD_NEXT, #name); \
    if ((flags & MAP_SHARED) && on_disk(fd)) { errno = ENODEV; return MAP_FAILED; } \
    return real(at, n, prot, flags, fd, where); }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

#define FCNTL(name) \
  int name(int fd, int what, ...) { \
    static int (*real)(int, int, ...); \
    if (!real) real = dlsym(RTLD_NEXT, #name); \
    va_list rest; va_start(rest, what); void *argument = va_arg(rest, void *); va_end(rest); \
    int is_lock = what == F_SETLK || what == F_SETLKW || what == F_GETLK; \
    if (is_lock && no_locks() && on_disk(fd)) { errno = ENOLCK; return -1; } \
    return real(fd, what, argument); }
FCNTL(fcntl)
FCNTL(fcntl64)

int flock(int fd, int what) {
  static int (*real)(int, int);
  if (!real) real = dlsym(RTLD_NEXT, "flock");
  if (no_locks() && on_disk(fd)) { errno = ENOLCK; return -1; }
  return real(fd, what); }
