/* Preloaded into an X server that x11prof starts, for itself or for a user: times every request in the server.
 *
 * X.Org's servers export the table of handlers by major opcode (ProcVector, SwappedProcVector), the array of
 * clients and its length. The library puts a function of its own before each handler. The function writes
 * one entry for each request, or for several short ones in a row, into memory that recorders share. It
 * calls no other function, takes no lock, and waits for nobody. The oldest entries are written over: a recorder
 * that comes too late knows how many requests it has lost. Without a recorder, the server goes on as before.
 *
 * proxy/src/capture/handler_times/ring.rs reads the memory; its layout is here and there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { ENTRIES = 1 << 17, PAGE = 4096, TABLE = 256 };
/* Requests in a row, of one kind, share an entry if their times differ from the mean by less than ALIKE, and each
 * begins at most BREAK after the one before: otherwise another process may have run between. In nanoseconds. */
enum { ALIKE = 200, BREAK = 5000, MOST = 1 << 12 };
/* A client's sequence number is searched among these first words of the server's record of the client. */
enum { WORDS = 32, SURE = 4, PATIENCE = 64 };

/* PAUSED is set from outside, by a calibration that reads the server's clock. */
enum state { STARTING = 0, LEARNING = 1, TIMING = 2, GAVE_UP = 3, PAUSED = 4 };

struct entry {
    uint64_t start, took; /* CLOCK_MONOTONIC, nanoseconds */
    uint16_t client;      /* index in the server's array */
    uint16_t sequence;    /* of the first request, its low bits */
    uint32_t count;       /* requests, one after the other */
};

struct shared {
    uint64_t state;
    uint64_t written __attribute__((aligned(64))), requests; /* entries, and requests in them */
    struct entry entries[ENTRIES] __attribute__((aligned(PAGE)));
};

typedef int (*handler)(void *);

static struct shared *shared;
static void *main_thread;
static void **clients;
static int *clients_length;

/* [0] for clients of the server's byte order, [1] for the others. */
static handler *table[2];
static handler original[2][TABLE];
static int depth;

/* The clock: the moment when both were read last, and when they were read first. Another process may run between two
 * readings: then the counter is more than APART beyond, and both are read again, at most TRIES times. */
enum { APART = 20000, TRIES = 8 };
static double tick;
static uint64_t first_nanos, first_ticks, then_nanos, then_ticks;

static struct entry last;
static uint8_t last_major;
static uint64_t last_end;
static int client_index;
static int sequence_word = -1;

static uint64_t monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Reads the clock and the counter of one moment; false where there was none. */
static int read_both(uint64_t *nanos, uint64_t *ticks)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __rdtsc();
        *nanos = monotonic();
        *ticks = __rdtsc();
        if (*ticks - before < APART)
            return 1;
    }
    return 0;
}

static void read_clock(void)
{
    uint64_t nanos, ticks;
    /* The moment before is as true. */
    if (!read_both(&nanos, &ticks))
        return;
    then_nanos = nanos;
    then_ticks = ticks;
    if (then_nanos - first_nanos > 1000000)
        tick = (double)(then_nanos - first_nanos) / (then_ticks - first_ticks);
}

static void publish(void)
{
    if (!last.count)
        return;
    uint64_t written = shared->written;
    shared->entries[written % ENTRIES] = last;
    __atomic_store_n(&shared->written, written + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&shared->requests, shared->requests + last.count, __ATOMIC_RELEASE);
    last.count = 0;
}

static int index_of(void *client)
{
    if (clients[client_index] == client)
        return client_index;
    for (int i = 0; i < *clients_length; i++)
        if (clients[i] == client)
            return client_index = i;
    return -1;
}

/* The place of the sequence number in the server's record of a client differs between servers. The first
 * client's first requests have the numbers 1, 2, 3 …: the word with these values is the one. */
static void learn(void *client)
{
    static void *learner;
    static uint32_t count, possible = ~0u;
    if (!learner)
        learner = client;
    if (client != learner)
        return;
    count++;
    int last_found = -1, found = 0;
    for (int word = 0; word < WORDS; word++) {
        if (!(possible & 1u << word))
            continue;
        if (((uint32_t *)client)[word] == count)
            last_found = word, found++;
        else
            possible &= ~(1u << word);
    }
    if (found == 1 && count >= SURE) {
        sequence_word = last_found;
        __atomic_store_n(&shared->state, TIMING, __ATOMIC_RELEASE);
    } else if (!found || count >= PATIENCE) {
        __atomic_store_n(&shared->state, GAVE_UP, __ATOMIC_RELEASE);
    }
}

static void note(int index, uint16_t sequence, uint8_t major, uint64_t start, uint64_t took)
{
    int64_t apart = (int64_t)(took * last.count - last.took);
    int64_t alike = (int64_t)ALIKE * last.count;
    int64_t between = (int64_t)(start - last_end);
    last_end = start + took;
    if (last.count && last.count < MOST && index == last.client && major == last_major && between < BREAK
        && sequence == (uint16_t)(last.sequence + last.count) && apart < alike && -apart < alike) {
        last.count++;
        last.took += took;
        return;
    }
    publish();
    last = (struct entry){start, took, index, sequence, 1};
    last_major = major;
}

static inline int handle(void *client, int swapped)
{
    /* The client's first field is the request that is handled. */
    uint8_t major = **(uint8_t **)client;
    /* A handler may hand its request on to another. */
    if (depth)
        return original[swapped][major](client);
    uint64_t state = __atomic_load_n(&shared->state, __ATOMIC_RELAXED);
    if (state != TIMING) {
        if (state == LEARNING)
            learn(client);
        return original[swapped][major](client);
    }
    int index = index_of(client);
    uint16_t sequence = ((uint32_t *)client)[sequence_word];
    depth = 1;
    uint64_t start = __rdtsc();
    int result = original[swapped][major](client);
    uint64_t took = __rdtsc() - start;
    depth = 0;
    if (index >= 0)
        note(index, sequence, major, then_nanos + (uint64_t)((start - then_ticks) * tick), took * tick);
    return result;
}

static int handle_plain(void *client)
{
    return handle(client, 0);
}

static int handle_swapped(void *client)
{
    return handle(client, 1);
}

/* Extensions fill in their handlers when the server starts, before it waits for the first time, and again after its
 * last client has gone. What else replaces a handler of ours later stays: the replacement may call ours. */
static void wrap(void)
{
    static const handler ours[2] = {handle_plain, handle_swapped};
    for (int swapped = 0; swapped < 2; swapped++)
        for (int i = 0; i < TABLE; i++)
            if (!original[swapped][i] || table[swapped][i] == original[swapped][i]) {
                original[swapped][i] = table[swapped][i];
                table[swapped][i] = ours[swapped];
            }
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("X11PROF_TIMES");
    table[0] = dlsym(RTLD_DEFAULT, "ProcVector");
    table[1] = dlsym(RTLD_DEFAULT, "SwappedProcVector");
    clients = dlsym(RTLD_DEFAULT, "clients");
    clients_length = dlsym(RTLD_DEFAULT, "currentMaxClients");
    /* A shell that starts the server hands the variables on. */
    if (!path || !table[0] || !table[1] || !clients || !clients_length)
        return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    /* Programs that the server starts are not servers. */
    unsetenv("X11PROF_TIMES");
    unsetenv("LD_PRELOAD");
    if (file < 0)
        return;
    /* A shell may have given the number of our memory to another file: only memory has seals. */
    struct stat about;
    int is_memory = fcntl(file, F_GET_SEALS) > 0 || strncmp(path, "/proc/", 6);
    if (!is_memory || fstat(file, &about) || about.st_size != sizeof *shared) {
        close(file);
        return;
    }
    void *memory = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        close(file);
        return;
    }
    /* The first write to a page is a fault, which handlers would pay for: some percent of a server's time. */
    for (uint64_t at = 0; at < sizeof *shared; at += PAGE)
        ((volatile unsigned char *)memory)[at] = 0;
    /* The file stays open: recorders find it among the server's. */
    main_thread = __builtin_thread_pointer();
    shared = memory;
    if (!read_both(&first_nanos, &first_ticks))
        shared->state = GAVE_UP;
}

/* The server's loop waits here: before, the last entry is over; after, the clock is read anew. */
int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    static int (*real)(int, struct epoll_event *, int, int);
    static unsigned waits;
    if (!real)
        real = dlsym(RTLD_NEXT, "epoll_wait");
    /* X.Org's input thread waits here as well. */
    int is_main = shared && main_thread == __builtin_thread_pointer();
    if (is_main) {
        publish();
        if (waits++ % 64 == 0) {
            wrap();
            if (shared->state == STARTING)
                __atomic_store_n(&shared->state, LEARNING, __ATOMIC_RELEASE);
        }
    }
    int ready = real(set, events, most, timeout);
    if (is_main)
        read_clock();
    return ready;
}
