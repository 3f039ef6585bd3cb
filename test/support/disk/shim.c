/*
 * A disk that fails on demand, preloaded into a process (LD_PRELOAD) by simulated-disk.ts, which also builds it.
 *
 * It watches the database files of one folder. A sync is only noted down, never carried out: what a power cut leaves behind is
 * worked out afterwards from the journal of writes and syncs. It can also fail a sync, let it hang, end the process
 * at one, and keep files from growing.
 *
 *   DISK_FOLDER   the folder, with a slash at its end
 *   DISK_CONTROL  a file of int32 slots, shared with the test; see the enumeration below
 *   DISK_JOURNAL  what was written and synced, in order; see note()
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PASSING_LOG_SYNCS, FAILING_LOG_SYNCS, FAILING_DATABASE_SYNCS, SYNCS_UNTIL_CUT, IS_FULL, HANGS, SLOTS };
enum { WRITE = 1, SYNC = 2, TRUNCATE = 3, REMOVE = 4 };

static const char *folder;
static size_t folder_length;
static int32_t *control;
static int journal = -1;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_ftruncate)(int, off64_t);
static int (*real_unlink)(const char *);
static int (*real_fsync)(int);

__attribute__((constructor)) static void prepare(void) {
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  if (real_pwrite == NULL) real_pwrite = dlsym(RTLD_NEXT, "pwrite");
  real_write = dlsym(RTLD_NEXT, "write");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  if (real_ftruncate == NULL) real_ftruncate = dlsym(RTLD_NEXT, "ftruncate");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  const char *control_file = getenv("DISK_CONTROL");
  const char *journal_file = getenv("DISK_JOURNAL");
  folder = getenv("DISK_FOLDER");
  if (folder == NULL || control_file == NULL || journal_file == NULL) return;
  folder_length = strlen(folder);
  int fd = open(control_file, O_RDWR | O_CLOEXEC);
  void *mapped = mmap(NULL, SLOTS * sizeof(int32_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  journal = open(journal_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (mapped == MAP_FAILED || journal < 0) abort();
  control = mapped;
}

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static int is_watched(const char *path) {
  return strncmp(path, folder, folder_length) == 0 && strstr(path + folder_length, ".db") != NULL;
}

/* The name of a database file below the folder, or of one beside it (-wal, .lock); NULL for any other file. */
static const char *name_of(int fd, char *path, size_t size) {
  if (control == NULL) return NULL;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  return is_watched(path) ? path + folder_length : NULL;
}

/* kind, length of the name, length of the data (uint32 each), position (uint64), name, data. */
static void note(uint32_t kind, const char *name, uint64_t position, const void *data, uint32_t length) {
  uint32_t head[3] = {kind, (uint32_t)strlen(name), length};
  struct iovec parts[4] = {
      {head, sizeof head}, {&position, sizeof position}, {(void *)name, head[1]}, {(void *)data, length}};
  if (writev(journal, parts, 4) < 0) abort();
}

/* Takes one from a slot that counts down; 1 when there was something to take. Below zero it never ends. */
static int take(int slot) {
  if (__atomic_load_n(&control[slot], __ATOMIC_SEQ_CST) < 0) return 1;
  if (__atomic_load_n(&control[slot], __ATOMIC_SEQ_CST) == 0) return 0;
  __atomic_sub_fetch(&control[slot], 1, __ATOMIC_SEQ_CST);
  return 1;
}

static int synced(int fd) {
  char path[4096];
  const char *name = name_of(fd, path, sizeof path);
  if (name == NULL) return real_fsync(fd);
  while (__atomic_load_n(&control[HANGS], __ATOMIC_SEQ_CST) != 0) usleep(1000);
  int fails = 0;
  pthread_mutex_lock(&one_at_a_time);
  if (take(SYNCS_UNTIL_CUT) && control[SYNCS_UNTIL_CUT] == 0) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (ends_with(name, "-wal")) fails = !take(PASSING_LOG_SYNCS) && take(FAILING_LOG_SYNCS);
  if (ends_with(name, ".db")) fails = take(FAILING_DATABASE_SYNCS);
  if (!fails) note(SYNC, name, 0, NULL, 0);
  pthread_mutex_unlock(&one_at_a_time);
  if (fails) errno = EIO;
  return fails ? -1 : 0;
}

static int would_grow(int fd, off64_t end) {
  struct stat state;
  return control[IS_FULL] != 0 && fstat(fd, &state) == 0 && state.st_size < end;
}

static ssize_t written(int fd, const void *data, size_t size, off64_t position) {
  char path[4096];
  const char *name = name_of(fd, path, sizeof path);
  if (name == NULL) return real_pwrite(fd, data, size, position);
  if (would_grow(fd, position + (off64_t)size)) {
    errno = ENOSPC;
    return -1;
  }
  /* noted first: a process that ends in between has only written what no sync has promised */
  pthread_mutex_lock(&one_at_a_time);
  note(WRITE, name, (uint64_t)position, data, (uint32_t)size);
  ssize_t result = real_pwrite(fd, data, size, position);
  pthread_mutex_unlock(&one_at_a_time);
  return result;
}

static int truncated(int fd, off64_t length) {
  char path[4096];
  const char *name = name_of(fd, path, sizeof path);
  if (name != NULL) note(TRUNCATE, name, (uint64_t)length, NULL, 0);
  return real_ftruncate(fd, length);
}

ssize_t write(int fd, const void *data, size_t size) {
  char path[4096];
  if (control == NULL || control[IS_FULL] == 0 || name_of(fd, path, sizeof path) == NULL) return real_write(fd, data, size);
  if (!would_grow(fd, lseek64(fd, 0, SEEK_CUR) + (off64_t)size)) return real_write(fd, data, size);
  errno = ENOSPC;
  return -1;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t position) { return written(fd, data, size, position); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t position) { return written(fd, data, size, position); }
int ftruncate64(int fd, off64_t length) { return truncated(fd, length); }
int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int fsync(int fd) { return synced(fd); }
int fdatasync(int fd) { return synced(fd); }

int unlink(const char *path) {
  if (control != NULL && is_watched(path)) note(REMOVE, path + folder_length, 0, NULL, 0);
  return real_unlink(path);
}
