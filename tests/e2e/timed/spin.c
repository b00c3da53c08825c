/* Preloaded into an X server: NoOperation takes the processor for as many times 5 microseconds as its second byte says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

static int64_t processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

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
