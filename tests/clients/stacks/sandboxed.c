/* Makes a request, permits itself the system calls of a client of X alone, and makes a request in another function. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct connection connection;
typedef struct { unsigned int sequence; } cookie;
connection *xcb_connect(const char *, int *);
cookie xcb_get_input_focus(connection *);
void *xcb_get_input_focus_reply(connection *, cookie, void **);

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter calls[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(read), ALLOW(write), ALLOW(writev), ALLOW(sendmsg), ALLOW(recvmsg), ALLOW(recvfrom), ALLOW(poll), ALLOW(ppoll),
    ALLOW(futex), ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

__attribute__((noinline)) static int ask_before(connection *x)
{
    return xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0) != 0;
}

__attribute__((noinline)) static int ask_in_the_sandbox(connection *x)
{
    return 2 * (xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0) != 0);
}

int main(void)
{
    connection *x = xcb_connect(0, 0);
    struct sock_fprog program = {sizeof calls / sizeof *calls, calls};
    int before = ask_before(x);
    (void)program;
#ifndef ASAN
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 9;
#endif
    /* The connection is not a leak. */
    _exit(before + ask_in_the_sandbox(x) == 3 ? 7 : 8);
}
