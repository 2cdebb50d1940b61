/* Shifts the clock of the wall, and what waits for it, in programs it is preloaded into; no other clock.
   Tells them of more processors, or of less memory, where it is asked to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static long shift, since; /* seconds; files changed after `since`, if any, are shifted along */
static long processors, pages; /* what there is said to be; 0 for what there is */
__attribute__((constructor)) static void begin(void) {
  const char *s = getenv("CLOCK_SHIFT"), *f = getenv("CLOCK_SHIFT_FILES_SINCE");
  if (s) shift = atol(s);
  if (f) since = atol(f);
  const char *c = getenv("PROCESSORS_TOLD"), *m = getenv("PAGES_TOLD");
  if (c) processors = atol(c);
  if (m) pages = atol(m);
}
#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)
#define WALL(id) ((id) == CLOCK_REALTIME || (id) == CLOCK_REALTIME_COARSE || (id) == CLOCK_TAI)
/* Moments of the monotonic clock are small numbers. */
#define BACK(t) struct timespec moved, *given = 0; if (t) { moved = *(t); if (moved.tv_sec > 1000000000L) moved.tv_sec -= shift; given = &moved; }

long sysconf(int name) {
  if (processors && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return processors;
  if (pages && name == _SC_PHYS_PAGES) return pages;
  REAL(long, "sysconf", int);
  return real(name);
}
int clock_gettime(clockid_t id, struct timespec *t) {
  REAL(int, "clock_gettime", clockid_t, struct timespec *);
  int r = real(id, t);
  if (!r && t && WALL(id)) t->tv_sec += shift;
  return r;
}
time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  REAL(int, "gettimeofday", struct timeval *, void *);
  int r = real(t, zone);
  if (!r && t) t->tv_sec += shift;
  return r;
}
int timespec_get(struct timespec *t, int base) {
  REAL(int, "timespec_get", struct timespec *, int);
  int r = real(t, base);
  if (r == TIME_UTC && t) t->tv_sec += shift;
  return r;
}
int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *rest) {
  REAL(int, "clock_nanosleep", clockid_t, int, const struct timespec *, struct timespec *);
  if (!(flags & TIMER_ABSTIME) || !WALL(id)) return real(id, flags, t, rest);
  BACK(t) return real(id, flags, given, rest);
}
int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict t) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!real) real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!real) real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  BACK(t) return real(c, m, given);
}
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id, const struct timespec *t) {
  REAL(int, "pthread_cond_clockwait", pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  BACK(t) return real(c, m, id, given);
}
int pthread_mutex_timedlock(pthread_mutex_t *restrict m, const struct timespec *restrict t) {
  REAL(int, "pthread_mutex_timedlock", pthread_mutex_t *, const struct timespec *);
  BACK(t) return real(m, given);
}
int sem_timedwait(sem_t *restrict s, const struct timespec *restrict t) {
  REAL(int, "sem_timedwait", sem_t *, const struct timespec *);
  BACK(t) return real(s, given);
}
int sem_clockwait(sem_t *restrict s, clockid_t id, const struct timespec *restrict t) {
  REAL(int, "sem_clockwait", sem_t *, clockid_t, const struct timespec *);
  BACK(t) return real(s, id, given);
}

#define LATER(seconds) if (since && (seconds) >= since) (seconds) += shift
#define EARLIER(seconds) if (since && (seconds) >= since + shift) (seconds) -= shift
static int seen(int r, struct stat *s) {
  if (!r && s) { LATER(s->st_mtim.tv_sec); LATER(s->st_ctim.tv_sec); LATER(s->st_atim.tv_sec); }
  return r;
}
#define AS(x) (struct stat *)(x)
#define STAT(n, t) int n(const char *restrict p, struct t *restrict s) { REAL(int, #n, const char *, struct t *); return seen(real(p, s), AS(s)); }
#define FSTAT(n, t) int n(int f, struct t *s) { REAL(int, #n, int, struct t *); return seen(real(f, s), AS(s)); }
#define STATAT(n, t) int n(int f, const char *restrict p, struct t *restrict s, int a) { REAL(int, #n, int, const char *, struct t *, int); return seen(real(f, p, s, a), AS(s)); }
#define XSTAT(n, t) int n(int v, const char *p, struct t *s) { REAL(int, #n, int, const char *, struct t *); return seen(real(v, p, s), AS(s)); }
#define XFSTAT(n, t) int n(int v, int f, struct t *s) { REAL(int, #n, int, int, struct t *); return seen(real(v, f, s), AS(s)); }
#define XSTATAT(n, t) int n(int v, int f, const char *p, struct t *s, int a) { REAL(int, #n, int, int, const char *, struct t *, int); return seen(real(v, f, p, s, a), AS(s)); }
STAT(stat, stat) STAT(lstat, stat) FSTAT(fstat, stat) STATAT(fstatat, stat)
STAT(stat64, stat64) STAT(lstat64, stat64) FSTAT(fstat64, stat64) STATAT(fstatat64, stat64)
XSTAT(__xstat, stat) XSTAT(__lxstat, stat) XFSTAT(__fxstat, stat) XSTATAT(__fxstatat, stat)
XSTAT(__xstat64, stat64) XSTAT(__lxstat64, stat64) XFSTAT(__fxstat64, stat64) XSTATAT(__fxstatat64, stat64)
int statx(int f, const char *restrict p, int a, unsigned m, struct statx *restrict s) {
  REAL(int, "statx", int, const char *, int, unsigned, struct statx *);
  int r = real(f, p, a, m, s);
  if (!r) { LATER(s->stx_mtime.tv_sec); LATER(s->stx_ctime.tv_sec); LATER(s->stx_atime.tv_sec); LATER(s->stx_btime.tv_sec); }
  return r;
}
#define SET(t) struct timespec set[2]; if (t) { set[0] = (t)[0]; set[1] = (t)[1]; EARLIER(set[0].tv_sec); EARLIER(set[1].tv_sec); }
int utimensat(int f, const char *p, const struct timespec t[2], int a) {
  REAL(int, "utimensat", int, const char *, const struct timespec *, int);
  SET(t) return real(f, p, t ? set : 0, a);
}
int futimens(int f, const struct timespec t[2]) {
  REAL(int, "futimens", int, const struct timespec *);
  SET(t) return real(f, t ? set : 0);
}
static void halves(const struct timeval *t, struct timespec *set) {
  for (int i = 0; i < 2; i++) { set[i].tv_sec = t[i].tv_sec; set[i].tv_nsec = t[i].tv_usec * 1000; }
}
int utimes(const char *p, const struct timeval t[2]) {
  struct timespec set[2];
  if (t) halves(t, set);
  return utimensat(AT_FDCWD, p, t ? set : 0, 0);
}
int lutimes(const char *p, const struct timeval t[2]) {
  struct timespec set[2];
  if (t) halves(t, set);
  return utimensat(AT_FDCWD, p, t ? set : 0, AT_SYMLINK_NOFOLLOW);
}
int futimes(int f, const struct timeval t[2]) {
  struct timespec set[2];
  if (t) halves(t, set);
  return futimens(f, t ? set : 0);
}
int utime(const char *p, const struct utimbuf *t) {
  struct timespec set[2] = {{t ? t->actime : 0, 0}, {t ? t->modtime : 0, 0}};
  return utimensat(AT_FDCWD, p, t ? set : 0, 0);
}
