// Sends requests from frames whose caller has been overwritten, as on the stack that greenlets use in turns: in the first run
// the caller's frame pointer leads nowhere, in the second one its return address. Exit status 7.
#include <stdint.h>
#include <stdlib.h>

struct xcb_connection;
struct xcb_connection *xcb_connect(const char *, int *);
struct {unsigned sequence;} xcb_get_input_focus(struct xcb_connection *);
void *xcb_get_input_focus_reply(struct xcb_connection *, unsigned, void **);

static struct xcb_connection *connection;

__attribute__((noinline)) static void ask(void)
{
    free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection).sequence, 0));
}

__attribute__((noinline)) static void overwrite(int place)
{
    volatile uint64_t *frame = __builtin_frame_address(0);
    frame[place] = 0x10;
    ask();
    ask();
    exit(7);
}

int main(int count, char **arguments)
{
    volatile int place = atoi(arguments[count - 1]);
    connection = xcb_connect(0, 0);
    overwrite(place);
    return 0;
}
