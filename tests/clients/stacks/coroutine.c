/* A thread with coroutines whose requests are made on the thread's own stack. Each coroutine's stack is freed after it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

typedef struct connection connection;
connection *xcb_connect(const char *, int *);
unsigned int xcb_no_operation(connection *);
int xcb_flush(connection *);

enum { ROUNDS = 6, SIZE = 1 << 16 };
static connection *x;
static char *stacks[ROUNDS], *of_thread;

/* Calls a function on another stack. */
void call_on(void (*function)(void), void *stack);
__asm__(".text\n.globl call_on\ncall_on:\n"
        "\t.cfi_startproc\n\tpush %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset rbp, -16\n"
        "\tmov %rsp, %rbp\n\t.cfi_def_cfa_register rbp\n\tmov %rsi, %rsp\n\tcall *%rdi\n"
        "\tmov %rbp, %rsp\n\tpop %rbp\n\t.cfi_def_cfa rsp, 8\n\tret\n\t.cfi_endproc\n");

static void ask_on_the_threads_stack(void)
{
    xcb_no_operation(x);
    xcb_flush(x);
}

static void coroutine(void)
{
    call_on(ask_on_the_threads_stack, of_thread);
}

static void *thread(void *nothing)
{
    char here[64];
    of_thread = (char *)(((unsigned long)here - SIZE) & ~15UL);
    for (int i = 0; i < ROUNDS; i++) {
        call_on(coroutine, stacks[i] + SIZE);
        munmap(stacks[i], SIZE);
    }
    return nothing;
}

int main(void)
{
    pthread_t one;
    x = xcb_connect(0, 0);
    /* They are above the stack of the thread, which comes later. */
    for (int i = 0; i < ROUNDS; i++)
        stacks[i] = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&one, 0, thread, 0);
    pthread_join(one, 0);
    return 7;
}
