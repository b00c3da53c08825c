/* Connections of a program that has neither libX11 nor libxcb for them: x11rb's own, python-xlib.
 *
 * A request has the stack on which its first byte was sent: that of a flush, where the program gathers requests. The
 * library puts its functions before libc's that connect and send. A program in Rust makes system calls itself: where it has connected, the
 * kernel hands its thread's calls, those from the program's own file, to a handler of the library (Linux 5.11,
 * Documentation/admin-guide/syscall-user-dispatch.rst). */

enum { OWN = 8, SETUP = 12, REPLY = 16, PATIENCE_MS = 1000, SHORT_MS = 20, SIGNALS = 100, BELOW = 256, ROOM = 8192 };
enum { SET_DISPATCH = 59, DISPATCH_ON = 1, DISPATCHED = 2 }; /* linux/prctl.h, asm-generic/siginfo.h */

/* A connection. The setup comes first, then requests. */
struct stream {
    int fd, is_set_up, has_base;
    dev_t device;
    ino_t socket;
    uint32_t base, sequence, had; /* bytes of a head that are there */
    uint64_t left;                /* bytes that follow a head */
    uint8_t head[SETUP];
};

static struct stream own[OWN];
static int own_count;
static uint64_t program_end; /* 0 where the program's calls are not handed over */

/* libc's functions that the library's own are put before. Another library's constructor may call them before look_up(). */
#define FUNCTIONS(F) \
    F(write) F(send) F(sendto) F(writev) F(sendmsg) F(connect) F(pthread_create) F(pthread_sigmask) F(sigprocmask) F(sigsuspend) \
    F(ppoll) F(pselect) F(epoll_pwait) F(sigaction) F(signal) F(dlclose)
#define FIELD(name) typeof(&name) name;
static struct {
    FUNCTIONS(FIELD)
} next_of;
#define NEXT(name) typeof(&name) next = next_of.name ? next_of.name : (next_of.name = dlsym(RTLD_NEXT, #name))

/* Of threads that send at once none has a place in the order: nothing more is told of such a connection. */
static int senders[OWN], is_out_of_order[OWN];

static int is_of(const struct stream *stream, int fd)
{
    struct stat about;
    int error = errno, is_same = !fstat(fd, &about) && about.st_ino == stream->socket && about.st_dev == stream->device;
    errno = error;
    return is_same;
}

/* The connection, which the caller holds until sent(). */
static struct stream *stream_of(int fd)
{
    for (int i = 0; i < __atomic_load_n(&own_count, __ATOMIC_ACQUIRE); i++) {
        if (own[i].fd != fd || !is_of(&own[i], fd))
            continue;
        if (!is_out_of_order[i] && !__atomic_exchange_n(&senders[i], 1, __ATOMIC_ACQUIRE))
            return &own[i];
        is_out_of_order[i] = 1;
    }
    return 0;
}

static void take(struct stream *stream, const uint8_t *bytes, uint64_t count, uint32_t stack)
{
    while (count) {
        uint64_t part = stream->left < count ? stream->left : count;
        stream->left -= part, bytes += part, count -= part;
        if (!count)
            break;
        if (!stream->had && stream->is_set_up && ++stream->sequence && stack)
            tell(stream->base, stream->sequence, stack);
        stream->head[stream->had++] = *bytes++, count--;
        uint16_t length, words[2];
        uint32_t big;
        memcpy(&length, stream->head + 2, 2);
        memcpy(&big, stream->head + 4, 4);
        memcpy(words, stream->head + 6, 4);
        uint32_t needed = !stream->is_set_up ? SETUP : stream->had < 4 || length ? 4 : 8;
        if (stream->had < needed)
            continue;
        if (!stream->is_set_up && stream->head[0] != 'l') {
            stream->fd = -1, stream->had = 0;
            return;
        }
        uint64_t all = length ? 4ULL * length : 4ULL * big;
        if (!stream->is_set_up)
            all = SETUP + ((words[0] + 3ULL) & ~3ULL) + ((words[1] + 3ULL) & ~3ULL);
        stream->left = all < needed ? 0 : all - needed;
        stream->had = 0;
        stream->is_set_up = 1;
    }
}

/* Takes so many bytes of the parts. */
static void take_parts(struct stream *stream, const struct iovec *parts, size_t count, uint64_t bytes, uint32_t stack)
{
    for (; count-- && bytes; parts++) {
        uint64_t part = parts->iov_len < bytes ? parts->iov_len : bytes;
        take(stream, parts->iov_base, part, stack);
        bytes -= part;
    }
}

/* Takes the bytes that were sent of `parts`, which are looked at if there are any: the kernel has checked them. Tells the stack
 * of each request of which the first byte is among them. */
static void sent(struct stream *stream, const struct iovec *parts, size_t count, ssize_t bytes, struct place_of_call frame)
{
    int error = errno;
    if (bytes > 0)
        take_parts(stream, parts, count, bytes, stream->has_base ? stack_at(frame) : 0);
    /* Where the program's own thread has the reply, waiting is in vain: the next time it is short. */
    static int patience = PATIENCE_MS;
    if (stream->is_set_up && !stream->has_base && !stream->left) {
        /* The program waits for this reply as well; a thread of its own may have it already. */
        struct pollfd reply = {.fd = stream->fd, .events = POLLIN};
        uint8_t bytes_of[REPLY] = {0};
        int is_ready, signals = SIGNALS;
        while ((is_ready = poll(&reply, 1, patience)) < 0 && errno == EINTR && signals--)
            ;
        /* A server or relay may send the reply's head by itself. */
        ssize_t here = 0;
        for (int rest = patience; is_ready == 1 && rest--; poll(0, 0, 1))
            if ((here = recv(stream->fd, bytes_of, REPLY, MSG_PEEK | MSG_DONTWAIT)) <= 0 || here == REPLY)
                break;
        if (here != REPLY || bytes_of[0] != 1)
            stream->fd = -1, patience = SHORT_MS;
        memcpy(&stream->base, bytes_of + offsetof(struct setup, resource_id_base), 4);
        stream->has_base = 1;
    }
    __atomic_store_n(&senders[stream - own], 0, __ATOMIC_RELEASE);
    errno = error;
}

/* Sends by `send`, and tells the stacks. */
#define TOLD(stream, parts, count, send) \
    ({ \
        ssize_t bytes = send; \
        sent((stream), bytes > 0 ? (parts) : 0, bytes > 0 ? (count) : 0, bytes, CALLER); \
        bytes; \
    })

ssize_t write(int fd, const void *from, size_t size)
{
    NEXT(write);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, next(fd, from, size)) : next(fd, from, size);
}

ssize_t send(int fd, const void *from, size_t size, int flags)
{
    NEXT(send);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, next(fd, from, size, flags)) : next(fd, from, size, flags);
}

ssize_t sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *to, socklen_t length)
{
    NEXT(sendto);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, next(fd, from, size, flags, to, length))
                  : next(fd, from, size, flags, to, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    NEXT(writev);
    struct stream *stream = stream_of(fd);
    return stream ? TOLD(stream, parts, count, next(fd, parts, count)) : next(fd, parts, count);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    NEXT(sendmsg);
    struct stream *stream = stream_of(fd);
    return stream ? TOLD(stream, message->msg_iov, message->msg_iovlen, next(fd, message, flags))
                  : next(fd, message, flags);
}

/* Makes a call again that the kernel handed over, from here, where it does not. Unwinders find the program beyond it. */
void call_again(void) __attribute__((visibility("hidden")));
__asm__(".text\n.hidden call_again\ncall_again:\n"
        "\t.cfi_startproc\n\t.cfi_def_cfa rsp, 256\n\t.cfi_offset rip, -256\n"
        "\tsyscall\n\tmovq (%rsp), %rcx\n\t.cfi_register rip, rcx\n"
        "\tleaq 256(%rsp), %rsp\n\t.cfi_def_cfa rsp, 0\n\tjmp *%rcx\n\t.cfi_endproc\n");

/* Whether the kernel hands calls over: a byte that it reads at each of the program's (the selector). One store ends all. */
static volatile unsigned char hands_over;

static void dispatch(void)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGSYS);
    /* A call that is handed over while its signal is blocked ends the program. */
    pthread_sigmask(SIG_UNBLOCK, &ours, 0);
    prctl(SET_DISPATCH, DISPATCH_ON, program_end, (1ULL << 47) - program_end, &hands_over);
}

/* The program has the signal for itself, as sandboxes do, or makes threads that nobody knows. What it sends is not counted any
 * more. */
static void end_dispatch(void)
{
    hands_over = 0;
    program_end = 0;
    for (int i = 0; i < own_count; i++)
        own[i].fd = -1;
}

/* From now on the library makes no system call of its own: the program may permit itself, and its other threads, certain ones
 * only. */
static void fall_silent(void)
{
    __atomic_store_n(&is_silent, 1, __ATOMIC_SEQ_CST);
    end_dispatch();
    for (int times = 0; times < PATIENCE_MS && __atomic_load_n(&inside, __ATOMIC_SEQ_CST) > busy; times++)
        poll(0, 0, 1);
}

static int is_restriction(long call, long option)
{
    return call == SYS_seccomp || (call == SYS_prctl && (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP));
}

int prctl(int option, ...)
{
    va_list words;
    va_start(words, option);
    unsigned long a = va_arg(words, unsigned long), b = va_arg(words, unsigned long), c = va_arg(words, unsigned long);
    unsigned long d = va_arg(words, unsigned long);
    va_end(words);
    return syscall(SYS_prctl, option, a, b, c, d);
}

/* It looks for no other function: one that allocates memory may come here. */
long syscall(long call, ...)
{
    va_list words;
    va_start(words, call);
    long a = va_arg(words, long), b = va_arg(words, long), c = va_arg(words, long);
    register long d __asm__("r10") = va_arg(words, long);
    register long e __asm__("r8") = va_arg(words, long);
    register long f __asm__("r9") = va_arg(words, long);
    va_end(words);
    if (is_restriction(call, a))
        fall_silent();
    __asm__ volatile("syscall" : "+a"(call) : "D"(a), "S"(b), "d"(c), "r"(d), "r"(e), "r"(f) : "rcx", "r11", "memory");
    if (call >= -4095 && call < 0)
        errno = -call, call = -1;
    return call;
}

static int (*real_sigaction(void))(int, const struct sigaction *, struct sigaction *)
{
    NEXT(sigaction);
    return next;
}

enum { A_SYSCALL = 2 }; /* bytes of the instruction */

/* Whether a call waits with signals blocked, of which a handler may make calls. */
static int has_mask(long call, const greg_t *registers)
{
    return call == SYS_rt_sigsuspend || (call == SYS_ppoll && registers[REG_R10]) || (call == SYS_pselect6 && registers[REG_R9])
           || ((call == SYS_epoll_pwait || call == SYS_epoll_pwait2) && registers[REG_R8]);
}

/* A system call of the program's own file. */
static void handed_over(int signal, siginfo_t *about, void *context)
{
    (void)signal;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    long call = about->si_syscall, fd = registers[REG_RDI], count = registers[REG_RDX];
    const void *from = (const void *)registers[REG_RSI];
    int error = errno;
    if (about->si_code != DISPATCHED) {
        /* Not of this library: as without it, the program ends. */
        struct sigaction none = {.sa_handler = SIG_DFL};
        hands_over = 0;
        real_sigaction()(SIGSYS, &none, 0);
        raise(SIGSYS);
        return;
    }
    if (call == SYS_rt_sigreturn) {
        /* Its stack is the signal's; it does not come back. */
        registers[REG_RIP] = (greg_t)call_again;
        return;
    }
    int is_restricting = is_restriction(call, fd), is_with_mask = has_mask(call, registers);
    if (is_restricting)
        fall_silent();
    if (is_restricting || is_with_mask || call == SYS_clone || call == SYS_clone3 || call == SYS_vfork || call == SYS_rt_sigprocmask || call == SYS_rt_sigaction) {
        /* These change the stack, the signals or what is permitted: from now on the program makes its calls itself. The kernel tells the place
         * after the call. */
        end_dispatch();
        registers[REG_RIP] -= A_SYSCALL;
        errno = error;
        return;
    }
    int is_sent = call == SYS_write || call == SYS_sendto || call == SYS_writev || call == SYS_sendmsg;
    struct stream *stream = is_sent ? stream_of(fd) : 0;
    if (!stream) {
        uint64_t *returns = (void *)(registers[REG_RSP] -= BELOW);
        *returns = registers[REG_RIP];
        registers[REG_RIP] = (greg_t)call_again;
        return;
    }
    struct place_of_call frame = {(uint64_t *)registers[REG_RSP] - 1, registers[REG_RIP], 1};
    ssize_t bytes = syscall(call, fd, from, count, registers[REG_R10], registers[REG_R8], registers[REG_R9]);
    registers[REG_RAX] = bytes < 0 ? -errno : bytes;
    const struct msghdr *message = from;
    struct iovec part = {(void *)from, count};
    if (bytes > 0 && call == SYS_sendmsg)
        sent(stream, message->msg_iov, message->msg_iovlen, bytes, frame);
    else
        sent(stream, call == SYS_writev ? from : &part, call == SYS_writev ? count : 1, bytes, frame);
    errno = error;
}

/* Where the program's own file ends. */
static int of_program(struct dl_phdr_info *about, size_t size, void *end)
{
    (void)size;
    for (int i = 0; i < about->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &about->dlpi_phdr[i];
        uint64_t after = about->dlpi_addr + part->p_vaddr + part->p_memsz;
        if (part->p_type == PT_LOAD && after > *(uint64_t *)end)
            *(uint64_t *)end = after;
    }
    /* The program is the first. */
    return 1;
}

static int is_of_libxcb(void *caller)
{
    Dl_info about = {0};
    struct found found = {0};
    /* dladdr takes the lock of the loader. */
    if (!find_object)
        dladdr(caller, &about);
    else if (!find_object(caller, &found) && found.map)
        about.dli_fname = found.map->l_name;
    /* libxcb-<hash>.so is that of a wheel of Python. */
    return about.dli_fname && (strstr(about.dli_fname, "/libxcb.so") || strstr(about.dli_fname, "/libxcb-"));
}

/* The number of the process's threads, and whether a filter (seccomp) may end it at a call that the filter does not know. */
static int is_simple(void)
{
    char status[PAGE];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, status, sizeof status - 1);
    if (file >= 0)
        close(file);
    status[length < 0 ? 0 : length] = 0;
    return strstr(status, "\nSeccomp:\t0\n") && strstr(status, "\nThreads:\t1\n");
}

/* Whether a handler of the program blocks the signal: a call that is handed over there would end the program. */
static int is_blocked_by_handler(void)
{
    struct sigaction known;
    for (int number = 1; number < _NSIG; number++)
        if (!real_sigaction()(number, 0, &known) && known.sa_handler != SIG_DFL && known.sa_handler != SIG_IGN
            && sigismember(&known.sa_mask, SIGSYS))
            return 1;
    return 0;
}

/* The kernel hands over the calls of the program's own file, of this thread and of those that it makes. Another thread's
 * calls would be missing in the count of requests. */
static void begin_dispatch(void *libc)
{
    uint64_t end = 0;
    dl_iterate_phdr(of_program, &end);
    /* All libraries lie above the program; a handler of the program's own stays. */
    struct sigaction handler = {.sa_sigaction = handed_over, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART}, known;
    if (!end || end >= (uint64_t)handed_over || end >= (uint64_t)libc || !is_simple() || is_blocked_by_handler() || real_sigaction()(SIGSYS, 0, &known)
        || known.sa_handler != SIG_DFL || real_sigaction()(SIGSYS, &handler, 0))
        return;
    program_end = end;
    hands_over = 1;
    dispatch();
}

/* A place for a connection: of one whose number has been given anew, or that is closed. */
static struct stream *place_of(int fd)
{
    for (int i = 0; i < own_count; i++)
        if (own[i].fd == fd || own[i].fd < 0 || !is_of(&own[i], own[i].fd))
            return &own[i];
    return own_count < OWN ? &own[own_count] : 0;
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    NEXT(connect);
    static const char display[] = "/tmp/.X11-unix/X";
    static int connecting;
    int result = next(fd, to, length), error = errno;
    struct stat about;
    /* The kernel has read the address. */
    if (result || is_silent || to->sa_family != AF_UNIX || is_of_libxcb(__builtin_return_address(0)) || fstat(fd, &about))
        goto out;
    const char *path = ((const struct sockaddr_un *)to)->sun_path;
    int offset = offsetof(struct sockaddr_un, sun_path), is_abstract = (int)length > offset && !*path;
    if ((int)length < (int)(offset + is_abstract + sizeof display - 1)
        || memcmp(path + is_abstract, display, sizeof display - 1) || __atomic_exchange_n(&connecting, 1, __ATOMIC_ACQUIRE))
        goto out;
    begin();
    struct stream *stream = place_of(fd);
    if (stream) {
        int number = stream - own;
        stream->fd = -1;
        senders[number] = is_out_of_order[number] = 0;
        *stream = (struct stream){.fd = fd, .socket = about.st_ino, .device = about.st_dev};
        if (number == own_count)
            __atomic_store_n(&own_count, own_count + 1, __ATOMIC_RELEASE);
    }
    if (stream && shared && !program_end)
        begin_dispatch(next);
    __atomic_store_n(&connecting, 0, __ATOMIC_RELEASE);
out:
    errno = error;
    return result;
}

/* A thread that is made later hands its calls over as well. */
struct start {
    void *(*run)(void *);
    void *of;
};

static void *started(void *of)
{
    struct start start = *(struct start *)of;
    free(of);
    if (program_end)
        dispatch();
    return start.run(start.of);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *of)
{
    NEXT(pthread_create);
    struct start *start = program_end ? malloc(sizeof *start) : 0;
    if (!start)
        return next(thread, attributes, run, of);
    *start = (struct start){run, of};
    int error = next(thread, attributes, started, start);
    if (error)
        free(start);
    return error;
}

/* The signal stays unblocked, also in handlers: a call that is handed over while the signal is blocked ends the program. */
static const sigset_t *without_ours(int how, const sigset_t *set, sigset_t *copy)
{
    if (!program_end || !set || how == SIG_UNBLOCK)
        return set;
    *copy = *set;
    sigdelset(copy, SIGSYS);
    return copy;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    NEXT(pthread_sigmask);
    sigset_t copy;
    return next(how, without_ours(how, set, &copy), old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    NEXT(sigprocmask);
    sigset_t copy;
    return next(how, without_ours(how, set, &copy), old);
}

int sigsuspend(const sigset_t *set)
{
    NEXT(sigsuspend);
    sigset_t copy;
    return next(without_ours(SIG_SETMASK, set, &copy));
}

int ppoll(struct pollfd *of, nfds_t count, const struct timespec *time, const sigset_t *set)
{
    NEXT(ppoll);
    sigset_t copy;
    return next(of, count, time, without_ours(SIG_SETMASK, set, &copy));
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *other, const struct timespec *time, const sigset_t *set)
{
    NEXT(pselect);
    sigset_t copy;
    return next(count, in, out, other, time, without_ours(SIG_SETMASK, set, &copy));
}

int epoll_pwait(int fd, struct epoll_event *events, int most, int time, const sigset_t *set)
{
    NEXT(epoll_pwait);
    sigset_t copy;
    return next(fd, events, most, time, without_ours(SIG_SETMASK, set, &copy));
}

/* A program that sets a handler of its own for the signal has it: calls are handed over no more. */
int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction copy;
    if (action && program_end) {
        copy = *action;
        sigdelset(&copy.sa_mask, SIGSYS);
        action = &copy;
    }
    if (number == SIGSYS && action)
        end_dispatch();
    int result = real_sigaction()(number, action, old);
    if (!result && old && number == SIGSYS && old->sa_sigaction == handed_over)
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return result;
}

__sighandler_t signal(int number, __sighandler_t handler)
{
    NEXT(signal);
    if (number == SIGSYS)
        end_dispatch();
    __sighandler_t old = next(number, handler);
    return number == SIGSYS && (void *)old == (void *)handed_over ? SIG_DFL : old;
}

/* Other functions that block the signal or set its handler: calls are handed over no more. */
#define ENDS_DISPATCH(type, name, is_ending, parameters, arguments) \
    type name parameters \
    { \
        static type(*next) parameters; \
        if (is_ending) \
            end_dispatch(); \
        if (next || (next = dlsym(RTLD_NEXT, #name))) \
            return next arguments; \
        errno = ENOSYS; \
        return (type)-1; \
    }
ENDS_DISPATCH(int, sighold, number == SIGSYS, (int number), (number))
ENDS_DISPATCH(int, sigblock, 1, (int mask), (mask))
ENDS_DISPATCH(int, sigsetmask, 1, (int mask), (mask))
ENDS_DISPATCH(__sighandler_t, sigset, number == SIGSYS, (int number, __sighandler_t handler), (number, handler))
ENDS_DISPATCH(__sighandler_t, __sysv_signal, number == SIGSYS, (int number, __sighandler_t handler), (number, handler))
ENDS_DISPATCH(int, setcontext, sigismember(&context->uc_sigmask, SIGSYS), (const ucontext_t *context), (context))
ENDS_DISPATCH(int, epoll_pwait2, set != 0,
              (int fd, struct epoll_event *events, int most, const struct timespec *time, const sigset_t *set),
              (fd, events, most, time, set))
/* A call that is handed over needs more room. */
ENDS_DISPATCH(int, sigaltstack, set && set->ss_size < ROOM, (const stack_t *set, stack_t *old), (set, old))
