/* Starts itself under a filter that ends a process for calls that a client of X does not make, and makes a request there. */
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

#define DENY(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static struct sock_filter calls[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    DENY(getpid), DENY(readlink), DENY(clock_gettime),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int main(int count, char **arguments)
{
    struct sock_fprog program = {sizeof calls / sizeof *calls, calls};
    if (count == 1) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            return 9;
        execl(arguments[0], arguments[0], "again", (char *)0);
        return 8;
    }
    connection *x = xcb_connect(0, 0);
    _exit(xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0) ? 7 : 6);
}
