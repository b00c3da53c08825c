/* Preloaded into a program that x11prof starts (record --stacks=requests): tells the stack on which each request was
 * made.
 *
 * libX11 makes every request in _XGetRequest, libxcb in xcb_send_request_with_fds64. The library puts a function of its own
 * before each, and writes one entry for each request into memory that the recorder shares: the connection, by its first
 * resource id, the request's number, and the stack's. A stack is unwound when it is new. One that was seen before at the
 * same depth is known by its return addresses, which are still where they were: that takes some reads. The library waits for
 * nobody. The oldest entries are written over. Other programs' connections: own_connection.h.
 *
 * proxy/src/capture/request_stacks/ring.rs reads the memory; its layout is here and there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

enum { PAGE = 4096, REQUESTS = 1 << 19, DEFINITIONS = 32 << 20, PLACES = 1 << 16, MOST_STACKS = 50000 };
enum { DEPTH = 200, BUCKETS = 1 << 14, CHAIN = 16, KNOWN = 32 << 20, MODULES = 512, NAME = 2 * PATH_MAX };
enum { A_MODULE = 1, A_STACK = 2, A_FUNCTION = 3, IS_WHOLE = 1u << 31, NO_MODULE = 0 };

struct request {
    uint32_t base, sequence, stack;
    uint32_t turn; /* of the ring, from 1 on; written last */
};

struct frame {
    uint32_t module, unused;
    uint64_t address; /* in the file, of the call; a line of a function of Python */
};

struct definition {
    uint32_t kind, number, count; /* bytes of a name, frames of a stack */
    uint32_t unused;
};

struct place {
    uint32_t at;     /* of a definition */
    uint32_t length; /* of all of the definition; written last */
};

struct shared {
    uint64_t written, placed, defined; /* requests, definitions, bytes that these took */
    uint32_t stacks, modules;          /* numbers that were given out */
    uint64_t learned;                  /* nanoseconds that threads ran to unwind stacks */
    struct request requests[REQUESTS] __attribute__((aligned(PAGE)));
    struct place places[PLACES] __attribute__((aligned(PAGE)));
    unsigned char definitions[DEFINITIONS] __attribute__((aligned(PAGE)));
};

/* A stack that was unwound: the places of its return addresses, and their values. Another thread's places may not be
 * memory any more. */
struct known {
    struct known *next;
    uint64_t *at, pc, python;
    pthread_t thread;
    uint32_t stack, depth, ended;
    struct {
        uint64_t *at, value;
    } returns[];
};

/* Where a stack begins: the place of a return address, and the address. */
struct place_of_call {
    uint64_t *at, pc;
};

struct walk {
    struct place_of_call from;
    uint64_t *at[DEPTH], pc[DEPTH];
    int depth, ended;
    const struct known *last; /* the stack that was unwound before */
    uint32_t seen;            /* its inner frames, which are not on this one */
};

/* Xlibint.h, struct _XDisplay: its beginning has not changed since X11R6. */
struct display {
    void *ext_data, *free_funcs;
    int fd, conn_checker, major, minor;
    char *vendor;
    unsigned long resource_base, resource_mask, resource_id;
    int resource_shift;
    void *resource_alloc;
    int byte_order, bitmap_unit, bitmap_pad, bitmap_bit_order, nformats;
    void *pixmap_format;
    int vnumber, release;
    void *head, *tail;
    int qlen;
    unsigned long last_request_read, request;
};
_Static_assert(offsetof(struct display, request) == 152, "Xlib's own layout on x86-64");

/* dlfcn.h of glibc 2.35, struct dl_find_object, with room for later fields. */
struct found {
    unsigned long long flags;
    void *begin, *end;
    struct link_map *map;
    void *eh_frame, *more[16];
};

/* xproto.h, xcb_setup_t. */
struct setup {
    uint8_t status, unused;
    uint16_t major, minor, length;
    uint32_t release, resource_id_base;
};

enum { CALLERS = 1 << 10, INITIAL = 256, REACH = 1 << 27, CONNECTIONS = 64 };
static void begin(void);

/* glibc has pthread_atfork in no library that is shared; others have none of the rest. */
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) __attribute__((weak));
int dladdr1(const void *, Dl_info *, void **, int) __attribute__((weak));
extern void *__libc_stack_end __attribute__((weak));

static void *own_library(void)
{
    Dl_info info;
    return dladdr(own_library, &info) ? info.dli_fbase : 0;
}

static _Unwind_Reason_Code (*backtrace_by)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*ip_of)(struct _Unwind_Context *);
static _Unwind_Word (*cfa_of)(struct _Unwind_Context *);
static _Unwind_Word (*register_of)(struct _Unwind_Context *, int);
/* libgcc's unwind-dw2-fde.h. */
struct bases {
    void *text, *data, *function;
};
static const void *(*description_of)(void *, struct bases *);

static int (*find_object)(void *, struct found *);

static struct shared *shared;
static struct known *buckets[BUCKETS];
static unsigned char *known_memory;
static uint64_t known_used;
static struct {
    struct link_map *map; /* 0 where it has been unloaded */
    void *dynamic;        /* an address of its own */
    uint64_t begin, end;  /* of its addresses; 0 where that is not known */
    uint64_t name;        /* a hash */
    uint32_t number;
} modules[MODULES];
static int module_count, began;
/* True once the program has given up privileges: it may go on to permit itself certain system calls only. */
static int is_silent;
static struct known *newest;
/* The process whose thread learns a stack; a child has its parent's. */
static int learner;
/* The number of threads that unload a library; true until the unloaded ones are forgotten. */
static int unloading, has_unloaded;
/* This process, and its main thread. The program may have restricted its system calls unseen, so later there are few. */
static int process;
static int recorder; /* 0 where it is not known */
static pthread_t main_thread;
/* The number of threads that tell a stack. */
static int inside;
static __thread int busy __attribute__((tls_model("initial-exec")));

/* The functions of the libraries that the program itself needs, and the addresses of all that was loaded with it. */
enum { GET_REQUEST, SEND_REQUEST, GET_SETUP, GET_FD, REALS };
static const char *const names[REALS] = {"_XGetRequest", "xcb_send_request_with_fds64", "xcb_get_setup", "xcb_get_file_descriptor"};
static void *reals[REALS];
static struct {
    uint64_t begin, end;
} initial[INITIAL];
static int initial_count;

static int of_initial(struct dl_phdr_info *about, size_t size, void *to)
{
    (void)size, (void)to;
    uint64_t begin = UINT64_MAX, end = 0;
    for (int i = 0; i < about->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &about->dlpi_phdr[i];
        uint64_t from = about->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            begin = from < begin ? from : begin;
            end = from + part->p_memsz > end ? from + part->p_memsz : end;
        }
    }
    if (initial_count < INITIAL)
        initial[initial_count].begin = begin, initial[initial_count++].end = end;
    return 0;
}

static int is_initial(void *caller)
{
    for (int i = 0; i < initial_count; i++)
        if ((uint64_t)caller >= initial[i].begin && (uint64_t)caller < initial[i].end)
            return 1;
    return 0;
}

/* The function that a caller would have called. A process may have several libxcbs (wheels of Python bring their own): each
 * one's connections are its own. So the caller's library is asked first, with those that it needs. It stays loaded. */
static void *real(const char *library, int number, void *caller)
{
    if (reals[number] && is_initial(caller))
        return reals[number];
    Dl_info info;
    const char *name = names[number];
    void *handle = dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : 0, *found = handle ? dlsym(handle, name) : 0;
    if (found && dladdr(found, &info) && info.dli_fbase == own_library())
        found = 0;
    if (!found && !(found = dlsym(RTLD_NEXT, name)) && (handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)))
        found = dlsym(handle, name);
    return found;
}

/* The functions of one caller. */
struct callee {
    struct callee *next;
    void *caller, *(*get_request)(struct display *, uint8_t, size_t);
    uint64_t (*send_request)(void *, int, void *, const void *, unsigned, int *);
    const struct setup *(*get_setup)(void *);
    int (*get_fd)(void *);
};

static struct callee *callees[CALLERS];

static inline const struct callee *callee_of(void *caller, int is_xlib, struct callee *room)
{
    struct callee **bucket = &callees[((uint64_t)caller * 0x9E3779B97F4A7C15ULL) >> 54];
    struct callee *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE), *one = first;
    for (; one; one = one->next)
        if (one->caller == caller)
            return one;
    begin();
    *room = (struct callee){.next = first, .caller = caller};
    if (is_xlib)
        room->get_request = real("libX11.so.6", GET_REQUEST, caller);
    else {
        room->send_request = real("libxcb.so.1", SEND_REQUEST, caller);
        room->get_setup = real("libxcb.so.1", GET_SETUP, caller);
        room->get_fd = real("libxcb.so.1", GET_FD, caller);
    }
    /* Where another thread was earlier, the caller is looked for again the next time. */
    if ((one = malloc(sizeof *one))) {
        *one = *room;
        if (!__atomic_compare_exchange_n(bucket, &first, one, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            free(one);
    }
    return room;
}

static int define(uint32_t kind, uint32_t number, uint32_t count, const void *from, uint32_t bytes);

#include "python.h"

/* The number of filters of system calls (seccomp) of a process; 0 where it cannot be read. */
static int filters_of(const char *status)
{
    char text[PAGE];
    int file = open(status, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length < 0 ? 0 : length] = 0;
    const char *line = strstr(text, "\nSeccomp_filters:\t");
    return line ? atoi(line + sizeof "\nSeccomp_filters:") : 0;
}

/* Whether a launcher has restricted the program's system calls: it has more filters than the recorder, whose memory `path`
 * is (/proc/PID/fd/N). */
static int is_restricted(const char *path)
{
    char status[32] = {0};
    const char *rest = strstr(path, "/fd/");
    if (rest && rest - path <= 20)
        strcpy((char *)memcpy(status, path, rest - path) + (rest - path), "/status");
    return filters_of("/proc/self/status") > filters_of(status);
}

static void begin(void)
{
    int no = 0;
    if (is_silent || !__atomic_compare_exchange_n(&began, &no, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    const char *path = getenv("X11PROF_STACKS");
    if (path && is_restricted(path)) {
        is_silent = 1;
        return;
    }
    process = getpid();
    recorder = path && !strncmp(path, "/proc/", 6) ? atoi(path + 6) : 0;
    void *unwinder = path ? dlopen("libgcc_s.so.1", RTLD_LAZY) : 0;
    if (!unwinder)
        return;
    backtrace_by = dlsym(unwinder, "_Unwind_Backtrace");
    ip_of = dlsym(unwinder, "_Unwind_GetIP");
    cfa_of = dlsym(unwinder, "_Unwind_GetCFA");
    register_of = dlsym(unwinder, "_Unwind_GetGR");
    description_of = dlsym(unwinder, "_Unwind_Find_FDE");
    find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
    python_begin(dlsym(unwinder, "_Unwind_FindEnclosingFunction"));
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (!backtrace_by || !ip_of || !cfa_of || !register_of || !description_of || file < 0)
        return;
    /* A recorder that has ended may have given the number of its memory to another file: only memory has seals. */
    struct stat about;
    if (fcntl(file, F_GET_SEALS) <= 0 || fstat(file, &about) || about.st_size != sizeof *shared) {
        close(file);
        return;
    }
    void *memory = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    void *known = mmap(0, KNOWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    close(file);
    if (memory == MAP_FAILED || known == MAP_FAILED)
        return;
    known_memory = known;
    __atomic_store_n(&shared, memory, __ATOMIC_RELEASE);
}

/* Writes a definition: 0 where there is no more room. It has its place once it is whole: a process may be killed at any time. */
static int define(uint32_t kind, uint32_t number, uint32_t count, const void *from, uint32_t bytes)
{
    uint32_t all = (sizeof(struct definition) + bytes + 7) & ~7U;
    uint64_t at = __atomic_fetch_add(&shared->defined, all, __ATOMIC_RELAXED);
    if (at + all > DEFINITIONS)
        return 0;
    struct definition *room = (void *)(shared->definitions + at);
    *room = (struct definition){kind, number, count, 0};
    memcpy(room + 1, from, bytes);
    uint64_t number_of_place = __atomic_fetch_add(&shared->placed, 1, __ATOMIC_RELAXED);
    if (number_of_place >= PLACES)
        return 0;
    struct place *place = &shared->places[number_of_place];
    place->at = at;
    __atomic_store_n(&place->length, all, __ATOMIC_RELEASE);
    return 1;
}

/* The file of an address; 0 where there is none. dladdr1 looks the nearest symbol up as well, which takes longer than all the
 * rest: glibc has had _dl_find_object since 2.35. */
static struct link_map *map_of(void *address, struct found *found)
{
    Dl_info info;
    *found = (struct found){0};
    if (find_object)
        return find_object(address, found) ? 0 : found->map;
    return dladdr1 && dladdr1(address, &info, (void **)&found->map, RTLD_DL_LINKMAP) ? found->map : 0;
}

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0;
    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 0x9E3779B97F4A7C15ULL;
    return hash;
}

static uint32_t module_of(uint64_t pc, uint64_t *base)
{
    for (int i = 0; i < module_count; i++)
        if (pc >= modules[i].begin && pc < modules[i].end) {
            *base = modules[i].map->l_addr;
            return modules[i].number;
        }
    struct found found;
    struct link_map *map = map_of((void *)pc, &found);
    if (!map)
        return NO_MODULE;
    *base = map->l_addr;
    for (int i = 0; i < module_count; i++)
        if (modules[i].map == map)
            return modules[i].number;
    static char own[PATH_MAX]; /* the learner's */
    const char *name = map->l_name;
    if (!*name) {
        ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        own[length < 0 ? 0 : length] = 0;
        name = own;
    }
    if (module_count == MODULES)
        return NO_MODULE;
    uint32_t count = strlen(name), number = __atomic_add_fetch(&shared->modules, 1, __ATOMIC_RELAXED);
    if (!define(A_MODULE, number, count, name, count))
        return NO_MODULE;
    modules[module_count].map = map;
    modules[module_count].dynamic = map->l_ld;
    modules[module_count].name = hash_of(map->l_name);
    modules[module_count].begin = (uint64_t)found.begin;
    modules[module_count].end = (uint64_t)found.end;
    modules[module_count++].number = number;
    return number;
}

/* The innermost addresses come first: where a stack is another one, it is not looked at beyond the difference. */
static inline int holds(const struct known *known, uint32_t from)
{
    for (uint32_t i = from; i < known->depth; i++)
        if (*known->returns[i].at != known->returns[i].value)
            return 0;
    return 1;
}

static __thread struct {
    uint64_t low, high;
} own_stack __attribute__((tls_model("initial-exec")));

/* Whether an address is in the stack that the thread began with. A coroutine's stack is freed at any time, and another one may be
 * in its place: what was read there once may not be memory any more. */
static int is_own_stack(uint64_t at)
{
    pthread_attr_t about;
    void *low = 0;
    size_t size = 0;
    if (!own_stack.high && pthread_equal(pthread_self(), main_thread)) {
        /* No other memory is so near: the kernel leaves room for the main stack. */
        own_stack.high = &__libc_stack_end ? (uint64_t)__libc_stack_end : UINT64_MAX;
        own_stack.low = &__libc_stack_end ? own_stack.high - REACH : 0;
    } else if (!own_stack.high && !pthread_getattr_np(pthread_self(), &about)) {
        pthread_attr_getstack(&about, &low, &size);
        pthread_attr_destroy(&about);
        own_stack.low = (uint64_t)low, own_stack.high = own_stack.low + size;
    }
    return at >= own_stack.low && at < own_stack.high;
}

static uint64_t leb(const unsigned char **at)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

/* What a frame's place follows from: a register by its number, the memory at an address that is relative to it, or nothing
 * in the outermost frame. RIP is the number of the return address. */
enum { RBP = 6, RSP = 7, RIP = 16, AT_RBP, SIGNAL, OUTERMOST, UNKNOWN, REMEMBERED = 8 };
enum { OP_DEREF = 0x06, OP_BREG = 0x70 };

struct frame_place {
    int from;
    int64_t offset;
};

/* The rules for a frame's place up to an instruction (DWARF 5, 6.4.2). */
struct frame_rules {
    struct frame_place place, kept[REMEMBERED];
    int depth;
    uint64_t at, until, code_unit;
};

static void read_rules(struct frame_rules *rules, const unsigned char *from, const unsigned char *end)
{
    struct frame_place *place = &rules->place;
    while (from < end && rules->at <= rules->until) {
        unsigned char code = *from++;
        uint16_t two;
        uint32_t four;
        uint64_t number;
        switch (code < 0x40 ? code : code & 0xc0) {
        case 0x40: rules->at += (code & 0x3f) * rules->code_unit; break;
        case 0x02: rules->at += *from++ * rules->code_unit; break;
        case 0x03: memcpy(&two, from, 2), from += 2, rules->at += two * rules->code_unit; break;
        case 0x04: memcpy(&four, from, 4), from += 4, rules->at += four * rules->code_unit; break;
        case 0x07:
            if (leb(&from) == RIP)
                place->from = OUTERMOST;
            break;
        case 0x0a: rules->kept[rules->depth++ & (REMEMBERED - 1)] = *place; break;
        case 0x0b: *place = rules->kept[--rules->depth & (REMEMBERED - 1)]; break;
        case 0x0c: place->from = leb(&from), place->offset = leb(&from); break;
        case 0x0d: place->from = leb(&from); break;
        case 0x0e: place->offset = leb(&from); break;
        case 0x0f: case 0x10: case 0x16:
            if (code != 0x0f)
                leb(&from);
            number = leb(&from);
            /* Of an expression for the place only two forms are known: a signal handler's, and that of a stack that was
             * aligned, whose offset is in one byte. */
            if (code == 0x0f && *from == OP_BREG + RSP)
                place->from = SIGNAL;
            else if (code == 0x0f && number == 3 && *from == OP_BREG + RBP && from[2] == OP_DEREF)
                place->from = AT_RBP, place->offset = (int64_t)((uint64_t)from[1] << 57) >> 57;
            else if (code == 0x0f)
                place->from = UNKNOWN;
            from += number;
            break;
        case 0x05: case 0x09: case 0x11: case 0x14: case 0x15: leb(&from); /* fall through */
        case 0x80: case 0x06: case 0x08: case 0x2e: leb(&from); break;
        case 0x00: case 0xc0: break;
        default: place->from = UNKNOWN; return;
        }
    }
}

/* The rule for the place of the frame that has this return address; 0 if there is none. */
static int rule_of(uint64_t pc, struct frame_place *place)
{
    struct bases bases;
    const unsigned char *fde = description_of((void *)(pc - 1), &bases), *data = 0;
    uint32_t length, cie_length, back;
    if (!fde)
        return 0;
    memcpy(&length, fde, 4), memcpy(&back, fde + 4, 4);
    const unsigned char *cie = fde + 4 - back;
    memcpy(&cie_length, cie, 4);
    *place = (struct frame_place){UNKNOWN, 0};
    if (length == UINT32_MAX || cie_length == UINT32_MAX)
        return 1;
    const char *augmentation = (const char *)cie + 9;
    const unsigned char *at = (const unsigned char *)augmentation + strlen(augmentation) + 1;
    struct frame_rules rules = {.place = *place, .at = (uint64_t)bases.function, .until = pc - 1};
    rules.code_unit = leb(&at);
    leb(&at);
    cie[8] == 1 ? (uint64_t)*at++ : leb(&at);
    unsigned char encoding = 0;
    if (*augmentation == 'z') {
        uint64_t size = leb(&at);
        data = at, at += size;
        for (const char *letter = augmentation + 1; *letter; letter++)
            if (*letter == 'R')
                encoding = *data;
            else if (*letter == 'P')
                data += 1 + ((*data & 7) == 2 ? 2 : (*data & 7) == 3 ? 4 : 8);
            else if (*letter == 'L')
                data++;
    }
    read_rules(&rules, at, cie + 4 + cie_length);
    at = fde + 8 + 2 * ((encoding & 7) == 2 ? 2 : (encoding & 7) == 3 ? 4 : 8);
    if (data) {
        uint64_t more = leb(&at);
        at += more;
    }
    read_rules(&rules, at, fde + 4 + length);
    *place = rules.place;
    return 1;
}

/* The place of the caller's return address; 0 if the caller cannot be read. Where greenlets use one stack in turns, what was
 * a frame may be another's by now, and what it has saved leads anywhere: libgcc would follow it. */
static uint64_t *caller_of(struct _Unwind_Context *context, const struct frame_place *place)
{
    uint64_t frame = cfa_of(context);
    if (place->from == RBP || place->from == AT_RBP) {
        uint64_t base = register_of(context, RBP);
        if (base & 7 || base < frame || !is_own_stack(base + 16))
            return 0;
        frame = place->from == RBP ? base : *(uint64_t *)(base + place->offset);
    } else if (place->from != RSP)
        return 0;
    uint64_t *at = (uint64_t *)(frame + (place->from == AT_RBP ? 0 : place->offset)) - 1;
    return (uint64_t)at & 7 || (uint64_t)at < cfa_of(context) || !is_own_stack((uint64_t)at) ? 0 : at;
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *to)
{
    struct walk *walk = to;
    uint64_t pc = ip_of(context), *at = (uint64_t *)cfa_of(context) - 1;
    if (!pc) {
        walk->ended = 1;
        return _URC_NO_REASON;
    }
    /* The library's own frames. */
    if (at < walk->from.at)
        return _URC_NO_REASON;
    /* Without its place an address cannot be looked at again, nor on a coroutine's stack that may be freed: the stack ends early. */
    if (walk->depth == DEPTH || !is_own_stack((uint64_t)at) || *at != pc)
        return _URC_END_OF_STACK;
    /* From a frame on that the last stack had, this one is the same: unwinding takes most of the time of a new stack. */
    const struct known *last = walk->last;
    while (last && walk->seen < last->depth && last->returns[walk->seen].at < at)
        walk->seen++;
    int is_shared = last && walk->seen < last->depth && last->returns[walk->seen].at == at
                    && last->depth - walk->seen <= DEPTH - (uint32_t)walk->depth && holds(last, walk->seen);
    for (; is_shared && walk->seen < last->depth; walk->seen++) {
        walk->at[walk->depth] = last->returns[walk->seen].at;
        walk->pc[walk->depth++] = last->returns[walk->seen].value;
    }
    if (is_shared) {
        walk->ended = last->ended;
        return _URC_END_OF_STACK;
    }
    walk->at[walk->depth] = at;
    walk->pc[walk->depth++] = pc;
    struct frame_place place, next;
    if (!rule_of(pc, &place) || place.from == OUTERMOST || place.from == SIGNAL)
        return _URC_NO_REASON;
    at = caller_of(context, &place);
    if (at && (!*at || rule_of(*at, &next)))
        return _URC_NO_REASON;
    /* Code without a description, as a compiler makes it at run time, ends a stack; other numbers are no code. */
    if (at && walk->depth < DEPTH && *at >> 16 && !(*at >> 47)) {
        walk->at[walk->depth] = at;
        walk->pc[walk->depth++] = *at;
    }
    return _URC_END_OF_STACK;
}

static uint32_t add_stack(const struct walk *walk)
{
    uint32_t number = __atomic_add_fetch(&shared->stacks, 1, __ATOMIC_RELAXED), count = 0;
    if (number > MOST_STACKS)
        return 0;
    /* The learner's: a thread's own memory may be 16 kB. */
    static struct frame frames[2 * DEPTH];
    static struct python_stack python;
    memset(frames, 0, sizeof frames);
    python_read(&python, walk->pc, walk->depth);
    for (int i = 0; i < walk->depth; i++) {
        if (python_is_loop(walk->pc[i])) {
            count += python_take(&python, frames + count, 2 * DEPTH - count - (walk->depth - i));
            continue;
        }
        uint64_t base = 0, call = walk->pc[i] - 1;
        frames[count].module = module_of(call, &base);
        frames[count++].address = call - base;
    }
    uint32_t whole = walk->ended ? IS_WHOLE : 0;
    return define(A_STACK, number, count | whole, frames, sizeof frames[0] * count) ? number : 0;
}

/* Without a system call, so it is more than the thread's CPU time where another one runs in between. */
static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1000000000ULL * time.tv_sec + time.tv_nsec;
}

static uint64_t size_of_known(uint32_t depth)
{
    return sizeof(struct known) + sizeof((struct known *)0)->returns[0] * depth;
}

/* Forgets libraries that are no longer loaded, and the stacks with their addresses. Another library may have these by now, and
 * its map may be where the old one's was: the names differ. */
static void forget_unloaded(void)
{
    struct found found;
    for (int i = 0; i < module_count; i++) {
        struct link_map *map = modules[i].map;
        if (!map || (map_of(modules[i].dynamic, &found) == map && hash_of(map->l_name) == modules[i].name))
            continue;
        uint64_t begin = modules[i].begin, end = modules[i].end ? modules[i].end : UINT64_MAX;
        modules[i].map = 0;
        modules[i].begin = modules[i].end = 0;
        newest = 0;
        for (uint64_t at = 0; at < known_used;) {
            struct known *known = (void *)(known_memory + at);
            at += size_of_known(known->depth);
            for (uint32_t of = 0; of < known->depth; of++)
                if (known->returns[of].value > begin && known->returns[of].value <= end)
                    known->at = 0;
        }
    }
}

static inline struct known *find(struct place_of_call from, uint64_t python, struct known *const *bucket)
{
    struct known *known = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    for (int i = 0; known && i < CHAIN; i++, known = known->next)
        if (known->at == from.at && known->pc == from.pc && known->python == python && known->thread == pthread_self()
            && holds(known, 0))
            return known;
    return 0;
}

/* Unwinds a stack, and keeps the places of its return addresses. */
static uint32_t learn(struct place_of_call from, uint64_t python, struct known **bucket)
{
    int nobody = 0, self = process, other = learner;
    /* Another thread learns, or did when this process was forked off. */
    if (!__atomic_compare_exchange_n(&learner, &nobody, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        if (other && other != self)
            __atomic_compare_exchange_n(&learner, &other, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return 0;
    }
    uint64_t since = now();
    uint32_t stack = 0;
    if (__atomic_load_n(&unloading, __ATOMIC_ACQUIRE) || __atomic_exchange_n(&has_unloaded, 0, __ATOMIC_ACQ_REL)) {
        forget_unloaded();
        const struct known *known = find(from, python, bucket);
        stack = known ? known->stack : 0;
    }
    static struct walk walk;
    memset(&walk, 0, sizeof walk);
    walk.from = from, walk.last = newest && newest->thread == pthread_self() ? newest : 0;
    if (!stack)
        backtrace_by(step, &walk);
    uint64_t size = size_of_known(walk.depth);
    if (walk.depth && known_used + size <= KNOWN && (stack = add_stack(&walk))) {
        struct known *known = (void *)(known_memory + known_used);
        known_used += size;
        *known = (struct known){*bucket, from.at, from.pc, python, pthread_self(), stack, walk.depth, walk.ended};
        newest = known;
        for (int i = 0; i < walk.depth; i++) {
            known->returns[i].at = walk.at[i];
            known->returns[i].value = walk.pc[i];
        }
        __atomic_store_n(bucket, known, __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&shared->learned, now() - since, __ATOMIC_RELAXED);
    __atomic_store_n(&learner, 0, __ATOMIC_RELEASE);
    return stack;
}

static inline uint32_t stack_of(struct place_of_call from)
{
    uint64_t python = python_hash(), hash = (from.pc ^ (uint64_t)from.at << 13 ^ python) * 0x9E3779B97F4A7C15ULL;
    struct known **bucket = &buckets[hash >> 50];
    int is_changed = __atomic_load_n(&unloading, __ATOMIC_ACQUIRE) || __atomic_load_n(&has_unloaded, __ATOMIC_ACQUIRE);
    const struct known *known = is_changed ? 0 : find(from, python, bucket);
    if (known)
        return known->stack;
    return learn(from, python, bucket);
}

/* The number of the stack there; 0 where it is not told. */
static inline uint32_t stack_at(struct place_of_call from)
{
    if (busy || is_silent || !shared || !is_own_stack((uint64_t)from.at))
        return 0;
    busy = 1;
    __atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
    uint32_t stack = __atomic_load_n(&is_silent, __ATOMIC_SEQ_CST) ? 0 : stack_of(from);
    __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
    busy = 0;
    return stack;
}

static inline void tell(uint32_t base, uint32_t sequence, uint32_t stack)
{
    uint64_t place = __atomic_fetch_add(&shared->written, 1, __ATOMIC_RELAXED);
    struct request *request = &shared->requests[place % REQUESTS];
    request->base = base;
    request->sequence = sequence;
    request->stack = stack;
    __atomic_store_n(&request->turn, (uint32_t)(place / REQUESTS) + 1, __ATOMIC_RELEASE);
}

/* Whether a connection is one to the recorder: another display gives the same resource ids. */
static int is_to_recorder(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    int error = errno, is_known = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && peer.pid > 0 && recorder > 0;
    errno = error;
    return !is_known || peer.pid == recorder;
}

static inline int is_recorded(int fd, uint32_t base)
{
    static struct {
        int fd, is_recorded;
        uint32_t base;
    } known[CONNECTIONS];
    typeof(known[0]) *one = &known[(uint32_t)fd % CONNECTIONS];
    if (!one->base || one->fd != fd || one->base != base)
        *one = (typeof(known[0])){fd, is_silent || is_to_recorder(fd), base};
    return one->is_recorded;
}

static inline void note(int fd, uint32_t base, uint32_t sequence, struct place_of_call from)
{
    uint32_t stack = shared && is_recorded(fd, base) ? stack_at(from) : 0;
    if (stack)
        tell(base, sequence, stack);
}

/* The place of the function's own return address. */
#define CALLER ((struct place_of_call){RETURNS, *RETURNS})
#define RETURNS ((uint64_t *)__builtin_dwarf_cfa() - 1)

void *_XGetRequest(struct display *display, uint8_t type, size_t length)
{
    struct callee room;
    void *request = callee_of(__builtin_return_address(0), 1, &room)->get_request(display, type, length);
    note(display->fd, display->resource_base, display->request, CALLER);
    return request;
}

uint64_t xcb_send_request_with_fds64(void *c, int flags, void *vector, const void *request, unsigned count, int *fds)
{
    struct callee room;
    const struct callee *callee = callee_of(__builtin_return_address(0), 0, &room);
    uint64_t sequence = callee->send_request(c, flags, vector, request, count, fds);
    const struct setup *setup = callee->get_setup(c);
    /* The number of a request is 0 where the connection is broken. */
    if (sequence && setup)
        note(callee->get_fd(c), setup->resource_id_base, sequence, CALLER);
    return sequence;
}

#include "own_connection.h"

int dlclose(void *library)
{
    NEXT(dlclose);
    __atomic_add_fetch(&unloading, 1, __ATOMIC_SEQ_CST);
    int error = next(library);
    __atomic_store_n(&has_unloaded, 1, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&unloading, 1, __ATOMIC_SEQ_CST);
    return error;
}

static void forked(void)
{
    process = is_silent ? process : getpid();
    inside = 0;
}

/* Later the lock of the loader may be held by a thread that waits for this one. */
__attribute__((constructor)) static void look_up(void)
{
#define LOOK_UP(name) next_of.name = dlsym(RTLD_NEXT, #name);
    FUNCTIONS(LOOK_UP)
    main_thread = pthread_self();
    if (__register_atfork)
        __register_atfork(0, 0, forked, 0);
    else if (pthread_atfork)
        pthread_atfork(0, 0, forked);
    for (int i = 0; i < REALS; i++)
        reals[i] = dlsym(RTLD_NEXT, names[i]);
    if (!reals[GET_REQUEST] && !reals[SEND_REQUEST])
        return;
    dl_iterate_phdr(of_initial, 0);
    begin();
}
