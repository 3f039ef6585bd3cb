/*
 * Answers of the system that a test chooses, preloaded into a process (LD_PRELOAD) by faked-system.ts, which also
 * builds it.
 *
 *   SYSTEM_SILENT     while this file exists, a lookup of a name that ends with ".silent.test" does not return;
 *                     otherwise such a name leads to 127.0.0.1
 *   SYSTEM_DISK_TYPE  the type that statfs reports for every file system, in decimal; the true one if unset
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char suffix[] = ".silent.test";

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
  size_t length = name == NULL ? 0 : strlen(name);
  if (length < sizeof suffix - 1 || strcmp(name + length - (sizeof suffix - 1), suffix) != 0)
    return real(name, service, hints, found);
  const char *silent = getenv("SYSTEM_SILENT");
  while (silent != NULL && access(silent, F_OK) == 0) usleep(20000);
  return real("127.0.0.1", service, hints, found);
}

static void set_type(struct statfs *status) {
  const char *type = getenv("SYSTEM_DISK_TYPE");
  if (type != NULL) status->f_type = strtol(type, NULL, 10);
}

int statfs(const char *path, struct statfs *status) {
  int (*real)(const char *, struct statfs *) = dlsym(RTLD_NEXT, "statfs");
  int result = real(path, status);
  if (result == 0) set_type(status);
  return result;
}

int statfs64(const char *path, struct statfs64 *status) {
  int (*real)(const char *, struct statfs64 *) = dlsym(RTLD_NEXT, "statfs64");
  int result = real(path, status);
  if (result == 0) set_type((struct statfs *)status);
  return result;
}
