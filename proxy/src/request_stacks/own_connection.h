/* Connections of a program that has neither libX11 nor libxcb for them: x11rb's own, python-xlib.
 *
 * A request has the stack on which its first byte was sent: that of a flush, where the program gathers requests. The
 * library puts its functions before libc's that connect and send. A program in Rust makes system calls itself: where it has connected, the
 * kernel hands its thread's calls, those from the program's own file, to a handler of the library (Linux 5.11,
 * Documentation/admin-guide/syscall-user-dispatch.rst). */

enum { OWN = 8, SETUP = 12, REPLY = 16, PATIENCE_MS = 1000, BELOW = 256 };
enum { SET_DISPATCH = 59, DISPATCH_ON = 1, DISPATCHED = 2 }; /* linux/prctl.h, asm-generic/siginfo.h */

/* A connection. The setup comes first, then requests. */
struct stream {
    int fd, is_set_up, has_base;
    ino_t socket;
    uint32_t base, sequence, had; /* bytes of a head that are there */
    uint64_t left;                /* bytes that follow a head */
    uint8_t head[SETUP];
};

static struct stream own[OWN];
static int own_count;
static uint64_t program_end; /* 0 where the program's calls are not handed over */

#define NEXT(name) \
    static typeof(&name) next; \
    if (!next) \
        next = dlsym(RTLD_NEXT, #name)

static struct stream *stream_of(int fd)
{
    struct stat about;
    for (int i = 0; i < own_count; i++)
        if (own[i].fd == fd)
            return !fstat(fd, &about) && about.st_ino == own[i].socket ? &own[i] : 0;
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
        uint64_t all = length ? 4ULL * length : 4ULL * big;
        if (!stream->is_set_up)
            all = SETUP + ((words[0] + 3ULL) & ~3ULL) + ((words[1] + 3ULL) & ~3ULL);
        stream->left = all < needed ? 0 : all - needed;
        stream->had = 0;
        stream->is_set_up = 1;
    }
}

/* Takes so many bytes of what is sent. */
static void take_parts(struct stream *stream, const struct iovec *parts, size_t count, uint64_t bytes, uint32_t stack)
{
    for (; count-- && bytes; parts++) {
        uint64_t part = parts->iov_len < bytes ? parts->iov_len : bytes;
        take(stream, parts->iov_base, part, stack);
        bytes -= part;
    }
}

/* Takes what was sent of `parts`, which were told with `before` as the state. */
static void sent(struct stream *stream, struct stream before, const struct iovec *parts, size_t count, ssize_t bytes)
{
    *stream = before;
    take_parts(stream, parts, count, bytes < 0 ? 0 : bytes, 0);
    if (!stream->is_set_up || stream->has_base || stream->left)
        return;
    /* The program waits for this reply as well. */
    struct pollfd reply = {.fd = stream->fd, .events = POLLIN};
    uint8_t bytes_of[REPLY] = {0};
    int is_here = poll(&reply, 1, PATIENCE_MS) == 1 && recv(stream->fd, bytes_of, REPLY, MSG_PEEK) == REPLY;
    if (!is_here || bytes_of[0] != 1 || stream->head[0] != 'l')
        stream->fd = -1;
    memcpy(&stream->base, bytes_of + offsetof(struct setup, resource_id_base), 4);
    stream->has_base = 1;
}

/* Sends by `send`, and tells the stack of each request of which the first byte is among `parts`. */
#define TOLD(stream, parts, count, frame, send) \
    ({ \
        struct stream before = *(stream); \
        take_parts((stream), (parts), (count), UINT64_MAX, (stream)->has_base ? stack_at(frame) : 0); \
        ssize_t bytes = send; \
        sent((stream), before, (parts), (count), bytes); \
        bytes; \
    })

ssize_t write(int fd, const void *from, size_t size)
{
    NEXT(write);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, CALLER, next(fd, from, size)) : next(fd, from, size);
}

ssize_t send(int fd, const void *from, size_t size, int flags)
{
    NEXT(send);
    struct stream *stream = stream_of(fd);
    struct iovec part = {(void *)from, size};
    return stream ? TOLD(stream, &part, 1, CALLER, next(fd, from, size, flags)) : next(fd, from, size, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    NEXT(writev);
    struct stream *stream = stream_of(fd);
    return stream ? TOLD(stream, parts, count, CALLER, next(fd, parts, count)) : next(fd, parts, count);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    NEXT(sendmsg);
    struct stream *stream = stream_of(fd);
    return stream ? TOLD(stream, message->msg_iov, message->msg_iovlen, CALLER, next(fd, message, flags))
                  : next(fd, message, flags);
}

/* Makes a call again that the kernel handed over, from here, where it does not. */
void call_again(void) __attribute__((visibility("hidden")));
__asm__(".text\n.hidden call_again\ncall_again:\n\tsyscall\n\tmovq (%rsp), %rcx\n\tleaq 256(%rsp), %rsp\n\tjmp *%rcx\n");

static void dispatch(int on)
{
    prctl(SET_DISPATCH, on, on ? program_end : 0, on ? (1ULL << 47) - program_end : 0, 0);
}

/* A system call of the program's own file. */
static void handed_over(int signal, siginfo_t *about, void *context)
{
    (void)signal;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    long call = about->si_syscall, fd = registers[REG_RDI], count = registers[REG_RDX];
    const void *from = (const void *)registers[REG_RSI];
    struct iovec part = {(void *)from, count};
    const struct iovec *parts = &part;
    if (about->si_code != DISPATCHED)
        return;
    if (call == SYS_clone || call == SYS_clone3 || call == SYS_vfork || call == SYS_rt_sigreturn) {
        /* These change the stack: from now on the thread makes its calls itself. */
        dispatch(0);
        registers[REG_RIP] = (greg_t)about->si_call_addr;
        return;
    }
    if (call == SYS_writev)
        parts = from;
    else if (call == SYS_sendmsg)
        parts = ((const struct msghdr *)from)->msg_iov, count = ((const struct msghdr *)from)->msg_iovlen;
    else
        count = 1;
    int is_sent = call == SYS_write || call == SYS_sendto || call == SYS_writev || call == SYS_sendmsg;
    struct stream *stream = is_sent ? stream_of(fd) : 0;
    if (!stream) {
        uint64_t *returns = (void *)(registers[REG_RSP] -= BELOW);
        *returns = registers[REG_RIP];
        registers[REG_RIP] = (greg_t)call_again;
        return;
    }
    int error = errno;
    struct place_of_call frame = {(uint64_t *)registers[REG_RSP] - 1, registers[REG_RIP], 1};
    registers[REG_RAX] = TOLD(stream, parts, count, frame,
                              syscall(call, fd, from, registers[REG_RDX], registers[REG_R10], registers[REG_R8], registers[REG_R9]));
    if (registers[REG_RAX] < 0)
        registers[REG_RAX] = -errno;
    errno = error;
}

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
    Dl_info about;
    return dladdr(caller, &about) && about.dli_fname && strstr(about.dli_fname, "/libxcb.so");
}

int connect(int fd, const struct sockaddr *to, socklen_t length)
{
    NEXT(connect);
    static const char display[] = "/tmp/.X11-unix/X";
    const char *path = ((const struct sockaddr_un *)to)->sun_path;
    int offset = offsetof(struct sockaddr_un, sun_path), is_abstract = (int)length > offset && !*path;
    int is_display = to->sa_family == AF_UNIX && length >= offset + is_abstract + sizeof display - 1
                     && !memcmp(path + is_abstract, display, sizeof display - 1);
    int result = next(fd, to, length);
    struct stat about;
    int error = errno;
    if (result || !is_display || own_count == OWN || is_of_libxcb(__builtin_return_address(0)) || fstat(fd, &about))
        return result;
    begin();
    own[own_count] = (struct stream){.fd = fd, .socket = about.st_ino};
    __atomic_store_n(&own_count, own_count + 1, __ATOMIC_RELEASE);
    uint64_t end = 0;
    dl_iterate_phdr(of_program, &end);
    struct sigaction handler = {.sa_sigaction = handed_over, .sa_flags = SA_SIGINFO}, known;
    /* All libraries lie above the program; a handler of the program's own stays. */
    if (shared && end && end < (uint64_t)handed_over && end < (uint64_t)next && !sigaction(SIGSYS, 0, &known)
        && (known.sa_handler == SIG_DFL || known.sa_sigaction == handed_over) && !sigaction(SIGSYS, &handler, 0)) {
        program_end = end;
        dispatch(DISPATCH_ON);
    }
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
    dispatch(DISPATCH_ON);
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

/* A call that is handed over while its signal is blocked ends the program. */
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
