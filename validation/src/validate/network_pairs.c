/* Clients with a fault, and without it: network_pairs NAME fixed|faulty. Each ends with a round trip. */
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <xcb/xcb.h>
#include <X11/Xutil.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

xcb_connection_t *XGetXCBConnection(Display *); /* X11/Xlib-xcb.h is in a package of its own */

static Display *d;
static Window w;
static GC gc;

static void property_again(int n)
{
    for (int i = 0; i < n; i++) {
        Atom type; int format; unsigned long items, after; unsigned char *value = NULL;
        XGetWindowProperty(d, w, XA_WM_NAME, 0, 64, False, XA_STRING, &type, &format, &items, &after, &value);
        if (value) XFree(value);
    }
}

static void image(int count, int x, int width, int pause)
{
    static char data[4 * 32 * 30];
    for (int i = 0; i < count; i++) {
        if (x) data[i] = 1 + i;
        XImage *of = XCreateImage(d, DefaultVisual(d, DefaultScreen(d)), 24, ZPixmap, 0, data, width, 30, 32, 0);
        XPutImage(d, w, gc, of, 0, 0, x, 0, width, 30);
        of->data = NULL;
        XDestroyImage(of);
        if (pause) XFlush(d), usleep(pause);
    }
}

int main(int c, char **v)
{
    if (c < 3) return 2;
    const char *name = v[1];
    int faulty = !strcmp(v[2], "faulty");
    d = XOpenDisplay(NULL);
    if (!d) return 1;
    int s = DefaultScreen(d);
    w = XCreateSimpleWindow(d, DefaultRootWindow(d), 0, 0, 300, 300, 0, 0, WhitePixel(d, s));
    gc = XCreateGC(d, w, 0, 0);
    XStoreName(d, w, "pairs");
    XSelectInput(d, w, ExposureMask);
    XMapWindow(d, w);
    XEvent e;
    XWindowEvent(d, w, ExposureMask, &e);
    if (!strcmp(name, "colours")) {
        for (int i = 0; i < 60; i++) {
            XColor k;
            k.pixel = WhitePixel(d, s);
            if (faulty || !i) XQueryColor(d, DefaultColormap(d, s), &k);
            XDrawPoint(d, w, gc, i, 5);
        }
    } else if (!strcmp(name, "atoms")) {
        char names[30][16]; char *all[30]; Atom atoms[30];
        for (int i = 0; i < 30; i++) sprintf(all[i] = names[i], "_PAIRS_%d", i);
        if (faulty) for (int i = 0; i < 30; i++) XInternAtom(d, all[i], False);
        else XInternAtoms(d, all, 30, False, atoms);
    } else if (!strcmp(name, "property")) {
        property_again(faulty ? 30 : 1);
    } else if (!strcmp(name, "pieces")) {
        static char text[8192];
        Atom atom = XInternAtom(d, "_PAIRS", False), type;
        XChangeProperty(d, w, atom, XA_STRING, 8, PropModeReplace, (unsigned char *)text, sizeof text);
        int step = faulty ? 64 : 4096, format; unsigned long items, after = 1; unsigned char *value;
        for (long at = 0; after; at += step) {
            XGetWindowProperty(d, w, atom, at, step, False, XA_STRING, &type, &format, &items, &after, &value);
            XFree(value);
        }
    } else if (!strcmp(name, "extensions")) {
        const char *all[] = {"SHAPE", "SYNC", "RENDER", "RANDR", "XFIXES", "DAMAGE", "Composite", "XTEST", "RECORD", "DPMS"};
        xcb_connection_t *x = XGetXCBConnection(d);
        xcb_query_extension_cookie_t asked[10];
        for (int i = 0; i < 10; i++) {
            asked[i] = xcb_query_extension(x, strlen(all[i]), all[i]);
            if (faulty) free(xcb_query_extension_reply(x, asked[i], NULL));
        }
        for (int i = 0; i < 10 && !faulty; i++) free(xcb_query_extension_reply(x, asked[i], NULL));
    } else if (!strcmp(name, "sync")) {
        for (int i = 0; i < 30; i++) {
            XDrawPoint(d, w, gc, i, 5);
            if (faulty) XSync(d, False);
        }
    } else if (!strcmp(name, "image") || !strcmp(name, "image-pause")) {
        int pause = name[5] ? 30000 : 0;
        Pixmap kept = XCreatePixmap(d, w, 32, 30, 24);
        if (faulty) image(100, 0, 32, pause);
        else {
            Window window = w;
            w = kept, image(1, 0, 32, 0), w = window;
            for (int i = 0; i < 100; i++) {
                XCopyArea(d, kept, w, gc, 0, 0, 32, 30, 0, 0);
                if (pause) XFlush(d), usleep(pause);
            }
        }
    } else if (!strcmp(name, "outside") || !strcmp(name, "outside-pause")) {
        image(100, 292, faulty ? 32 : 8, name[7] ? 30000 : 0);
    } else if (!strcmp(name, "value") || !strcmp(name, "value-pause")) {
        static char text[2000];
        for (int i = 0; i < 100; i++) {
            if (faulty || !i)
                XChangeProperty(d, w, XA_WM_COMMAND, XA_STRING, 8, PropModeReplace, (unsigned char *)text, sizeof text);
            XDrawPoint(d, w, gc, i, 5);
            if (name[5]) XFlush(d), usleep(30000);
        }
    } else if (!strcmp(name, "fonts")) {
        const char *sizes[] = {"13-120-75-75-c-70", "14-130-75-75-c-70", "15-140-75-75-c-90", "18-120-100-100-c-90"};
        for (int i = 0; i < 4; i++) {
            char font[128];
            sprintf(font, "-misc-fixed-medium-r-normal--%s-%s", sizes[i], faulty ? "iso10646-1" : "iso8859-1");
            XLoadQueryFont(d, font);
        }
    } else if (!strcmp(name, "allocate")) {
        for (int i = 0; i < 30; i++) {
            XColor k = {.red = i << 8 | i, .flags = DoRed | DoGreen | DoBlue, .pixel = i << 16};
            if (faulty) XAllocColor(d, DefaultColormap(d, s), &k);
            XSetForeground(d, gc, k.pixel);
            XDrawPoint(d, w, gc, i, 5);
        }
    } else if (!strcmp(name, "selection")) {
        Atom to = XInternAtom(d, "_PAIRS", False);
        for (int i = 0; i < 20; i++) {
            XConvertSelection(d, XA_PRIMARY, XA_STRING, to, w, CurrentTime);
            if (faulty) {
                XSync(d, False);
                while (!XCheckTypedEvent(d, SelectionNotify, &e)) XSync(d, False);
            } else do XNextEvent(d, &e); while (e.type != SelectionNotify);
        }
    } else if (!strcmp(name, "pipelined")) {
        xcb_connection_t *x = XGetXCBConnection(d);
        xcb_get_property_cookie_t asked[30];
        int n = faulty ? 30 : 1;
        for (int i = 0; i < n; i++) asked[i] = xcb_get_property(x, 0, w, XA_WM_NAME, XA_STRING, 0, 64);
        for (int i = 0; i < n; i++) free(xcb_get_property_reply(x, asked[i], NULL));
    } else return 2;
    XSync(d, False);
    return 0;
}
