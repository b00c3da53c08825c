/* Draws, creates and asks in functions of known names, by libX11 (-DXLIB) or libxcb. It has no headers, so that only the
 * libraries themselves are needed. */
#include <stdint.h>

enum { CLEARED = 300, COPIED = 200, CREATED = 7, ASKED = 5, SIZE = 400 };

#ifdef XLIB
typedef struct display display;
display *XOpenDisplay(const char *);
unsigned long XDefaultRootWindow(display *);
unsigned long XCreateSimpleWindow(display *, unsigned long, int, int, unsigned, unsigned, unsigned, unsigned long, unsigned long);
void *XCreateGC(display *, unsigned long, unsigned long, void *);
int XMapWindow(display *, unsigned long);
int XClearArea(display *, unsigned long, int, int, unsigned, unsigned, int);
int XCopyArea(display *, unsigned long, unsigned long, void *, int, int, unsigned, unsigned, int, int);
unsigned long XCreatePixmap(display *, unsigned long, unsigned, unsigned, unsigned);
unsigned long XInternAtom(display *, const char *, int);
int XSync(display *, int);

static display *x;
static unsigned long window;
static void *gc;

static void open_window(void)
{
    x = XOpenDisplay(0);
    window = XCreateSimpleWindow(x, XDefaultRootWindow(x), 0, 0, SIZE, SIZE, 0, 0, 0);
    gc = XCreateGC(x, window, 0, 0);
    XMapWindow(x, window);
    XSync(x, 0);
}
#define CLEAR XClearArea(x, window, 0, 0, SIZE, SIZE, 0)
#define COPY XCopyArea(x, window, window, gc, 0, 0, SIZE, SIZE, 5, 5)
#define CREATE XCreatePixmap(x, window, 8, 8, 24)
#define ASK(i) XInternAtom(x, "AN_ATOM_OF_DRAWER" + i, 0)
#define END XSync(x, 0)
#else
typedef struct connection connection;
struct setup;
typedef struct { unsigned int sequence; } cookie;
typedef struct { uint32_t root; } screen;
typedef struct { screen *data; int rem, index; } screens;
connection *xcb_connect(const char *, int *);
const struct setup *xcb_get_setup(connection *);
screens xcb_setup_roots_iterator(const struct setup *);
uint32_t xcb_generate_id(connection *);
cookie xcb_create_window(connection *, uint8_t, uint32_t, uint32_t, int16_t, int16_t, uint16_t, uint16_t, uint16_t, uint16_t, uint32_t, uint32_t, const void *);
cookie xcb_create_gc(connection *, uint32_t, uint32_t, uint32_t, const void *);
cookie xcb_map_window(connection *, uint32_t);
cookie xcb_clear_area(connection *, uint8_t, uint32_t, int16_t, int16_t, uint16_t, uint16_t);
cookie xcb_copy_area(connection *, uint32_t, uint32_t, uint32_t, int16_t, int16_t, int16_t, int16_t, uint16_t, uint16_t);
cookie xcb_create_pixmap(connection *, uint8_t, uint32_t, uint32_t, uint16_t, uint16_t);
cookie xcb_intern_atom(connection *, uint8_t, uint16_t, const char *);
void *xcb_intern_atom_reply(connection *, cookie, void *);
cookie xcb_get_input_focus(connection *);
void *xcb_get_input_focus_reply(connection *, cookie, void *);

static connection *x;
static uint32_t window, gc;

static void open_window(void)
{
    static const uint32_t black = 0;
    x = xcb_connect(0, 0);
    uint32_t root = xcb_setup_roots_iterator(xcb_get_setup(x)).data->root;
    window = xcb_generate_id(x);
    gc = xcb_generate_id(x);
    xcb_create_window(x, 0, window, root, 0, 0, SIZE, SIZE, 0, 1, 0, 2, &black);
    xcb_create_gc(x, gc, window, 0, 0);
    xcb_map_window(x, window);
    xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0);
}
#define CLEAR xcb_clear_area(x, 0, window, 0, 0, SIZE, SIZE)
#define COPY xcb_copy_area(x, window, window, gc, 0, 0, 5, 5, SIZE, SIZE)
#define CREATE xcb_create_pixmap(x, 24, xcb_generate_id(x), window, 8, 8)
#define ASK(i) xcb_intern_atom_reply(x, xcb_intern_atom(x, 0, 9, "AN_ATOM_OF_DRAWER" + i), 0)
#define END xcb_get_input_focus_reply(x, xcb_get_input_focus(x), 0)
#endif

__attribute__((noinline)) void clear_areas(int count)
{
    for (int i = 0; i < count; i++)
        CLEAR;
}

__attribute__((noinline)) void copy_areas(int count)
{
    for (int i = 0; i < count; i++)
        COPY;
}

__attribute__((noinline)) void leak_pixmaps(int count)
{
    for (int i = 0; i < count; i++)
        CREATE;
}

__attribute__((noinline)) void ask_for_atoms(int count)
{
    for (int i = 0; i < count; i++)
        ASK(i);
}

/* Calls itself, so that the same requests are made at several depths. */
__attribute__((noinline)) void draw_again(int depth)
{
    clear_areas(CLEARED / 3);
    if (depth > 1)
        draw_again(depth - 1);
    copy_areas(1);
}

int main(void)
{
    open_window();
    draw_again(3);
    copy_areas(COPIED - 3);
    leak_pixmaps(CREATED);
    ask_for_atoms(ASKED);
    END;
    return 0;
}
