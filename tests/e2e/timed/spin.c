/* Preloaded into an X server: NoOperation takes the processor for as many times 5 microseconds as its second byte says.
 * Unless it is compiled with -DQUIET, another process runs right after some readings of the clock, as on a busy machine,
 * and the handler's time is the kernel's; else it is the clock's, which takes less to read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef QUIET
#define CLOCK CLOCK_MONOTONIC
#else
#define CLOCK CLOCK_THREAD_CPUTIME_ID
#endif

static int64_t processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#ifndef QUIET
int clock_gettime(clockid_t clock, struct timespec *t)
{
    static unsigned readings;
    int result = syscall(SYS_clock_gettime, clock, t);
    if (clock == CLOCK_MONOTONIC && ++readings % 4 == 0)
        syscall(SYS_nanosleep, &(struct timespec){0, 200000}, 0);
    return result;
}
#endif

static int spin(void *client)
{
    const uint8_t *request = *(const uint8_t **)client;
    int64_t until = processor_time() + request[1] * 5000;
    while (processor_time() < until)
        ;
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    for (const char *const *name = (const char *const[]){"ProcVector", "SwappedProcVector", 0}; *name; name++) {
        int (**table)(void *) = dlsym(RTLD_DEFAULT, *name);
        if (table)
            table[127] = spin;
    }
}
