/* Preloaded into an X server: how long its handlers of requests take, by major and minor opcode.
 *
 * It wraps the server's exported table of handlers once the extensions have filled it in. It shares no
 * code with x11prof. Counts and nanoseconds go to the file that
 * DISPATCH_TIMES names, which is mapped, so that nothing has to be written at the end. A server
 * of DISPATCH_HOST's name is left alone: a nested server has it as its host. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

typedef int (*handler)(void *);
struct cell { uint64_t count, nanos; };

static handler *table;
static handler original[256];
static struct cell (*cells)[256];

/* A handler that takes longer may have been interrupted by another program: one that writes a long reply wakes the
 * client, which may take the processor at once. */
enum { LONG = 5000 };

/* The thread's processor time and the moment, in nanoseconds, when both were read last. */
static int64_t cpu_then, then;
static double tick;

static int64_t clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A read of a clock costs as much as a small request; a counter of the processor's does not. */
static int64_t now(void)
{
    return (int64_t)(__rdtsc() * tick);
}

static void begin_to_run(void)
{
    cpu_then = clock_of(CLOCK_THREAD_CPUTIME_ID);
    then = now();
}

/* The client's first field is the request that is being handled. */
static int handle(void *client)
{
    const uint8_t *request = *(uint8_t **)client;
    uint8_t major = request[0], minor = major < 128 ? 0 : request[1];
    int64_t start = now();
    int result = original[major](client);
    int64_t took = now() - start;
    if (took > LONG) {
        /* Others may have had the processor meanwhile. */
        int64_t cpu = cpu_then, since = then;
        begin_to_run();
        int64_t away = (then - since) - (cpu_then - cpu);
        took -= away > 0 ? away : 0;
    }
    cells[major][minor].count++;
    cells[major][minor].nanos += took > 0 ? took : 0;
    return result;
}

static void wrap(void)
{
    for (int i = 0; i < 256; i++)
        if (table[i] != handle) {
            original[i] = table[i];
            table[i] = handle;
        }
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("DISPATCH_TIMES"), *host = getenv("DISPATCH_HOST");
    if (host && !strcmp(host, program_invocation_short_name))
        return;
    table = dlsym(RTLD_DEFAULT, "ProcVector");
    if (!table || !path)
        return;
    int file = open(path, O_RDWR | O_CREAT, 0600);
    size_t size = 256 * sizeof *cells;
    if (file < 0 || ftruncate(file, size) < 0)
        _exit(98);
    cells = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (cells == MAP_FAILED)
        _exit(98);
    int64_t start = clock_of(CLOCK_MONOTONIC), ticks = __rdtsc(), took;
    while ((took = clock_of(CLOCK_MONOTONIC) - start) < 5000000)
        ;
    tick = (double)took / (__rdtsc() - ticks);
}

/* The server's main loop waits here, after its extensions are there. */
int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    static int (*real)(int, struct epoll_event *, int, int);
    if (!real)
        real = dlsym(RTLD_NEXT, "epoll_wait");
    if (cells)
        wrap();
    int ready = real(set, events, most, timeout);
    if (cells)
        begin_to_run();
    return ready;
}
