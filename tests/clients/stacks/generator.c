/* Runs in a function that it generates, and writes the function's name to the map that perf reads. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct connection connection;
connection *xcb_connect(const char *, int *);
void xcb_disconnect(connection *);

int main(void)
{
    /* push rbp; mov rbp, rsp; mov rax, rdi; loop: dec rax; jnz loop; pop rbp; ret */
    static const unsigned char code[] = "\x55\x48\x89\xe5\x48\x89\xf8\x48\xff\xc8\x75\xfb\x5d\xc3";
    connection *x = xcb_connect(0, 0);
    void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    memcpy(memory, code, sizeof code - 1);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %lx generated_loop\n", (unsigned long)memory, (unsigned long)sizeof code - 1);
    fclose(map);
    ((void (*)(unsigned long))memory)(400000000);
    xcb_disconnect(x);
    printf("%s\n", path);
    return 0;
}
