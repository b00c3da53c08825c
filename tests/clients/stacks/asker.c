/* A client whose functions wait for known numbers of replies. It needs the library libxcb, and none of its headers. */
#include <stdint.h>
#include <stdlib.h>

typedef struct { unsigned sequence; } cookie;
void *xcb_connect(const char *, int *);
int xcb_connection_has_error(void *);
cookie xcb_intern_atom(void *, uint8_t, uint16_t, const char *);
void *xcb_intern_atom_reply(void *, cookie, void **);
cookie xcb_get_input_focus(void *);
void *xcb_get_input_focus_reply(void *, cookie, void **);
void xcb_disconnect(void *);

__attribute__((noinline)) static void ask_for_atoms(void *x)
{
    static const char names[] = "ABCDEFGHIJKLMNOPQRST";
    for (int i = 0; i < 20; i++)
        free(xcb_intern_atom_reply(x, xcb_intern_atom(x, 0, 1, names + i), 0));
}

__attribute__((noinline)) static void ask_for_focus(void *x)
{
    for (int i = 0; i < 10; i++)
        free(xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0));
}

__attribute__((noinline)) static void start(void *x)
{
    ask_for_atoms(x);
    ask_for_focus(x);
    __asm__ volatile("");
}

/* An argument is the number of times. */
int main(int count, char **words)
{
    void *x = xcb_connect(0, 0);
    if (xcb_connection_has_error(x))
        return 1;
    for (int times = count > 1 ? atoi(words[1]) : 1; times > 0; times--)
        start(x);
    xcb_disconnect(x);
    return 0;
}
