# Micro-benchmarks of LiLa (Jovic & Hauswirth 2008, Table 1) in Tk: handlers that take a known time, and
# write down how long each handling took.
#
#     wish microbench.tcl BENCHMARK WORK TRUTH MS…
#
# Times are those of CLOCK_MONOTONIC; Tcl has the clock of the day alone, and MONOTONIC_US is what to add.
package require Tk

lassign $argv benchmark work truth
set times [lrange $argv 3 end]
set lines {}
set drawn 0
set event_ms 0

proc now {} { expr {[clock microseconds] + $::env(MONOTONIC_US)} }

# Spends so many milliseconds.
proc spend {ms} {
    set end [expr {[now] + $ms * 1000}]
    switch $::work {
        sleep { after $ms }
        compute { while {[now] < $end} {} }
        round-trips { while {[now] < $end} { winfo pointerxy . } }
        read-back {
            while {[now] < $end} {
                for {set n 0} {$n < 40} {incr n} {
                    .c create rectangle 0 0 400 [expr {299 - $n % 2}] -fill #3060a0 -tags much
                }
                update idletasks
                # It is answered when all before it has been drawn.
                winfo pointerxy .
                .c delete much
            }
        }
    }
}

# A handler: it spends the next time and then shows that it did.
proc works {action {toplevel .} {time 0}} {
    set begin [now]
    if {[llength $::times] == 0} { return }
    set ::times [lassign $::times ms]
    spend $ms
    if {$toplevel ne "."} { destroy $toplevel }
    shows .c
    if {[winfo exists .second.c]} { shows .second.c }
    update idletasks
    set end [now]
    # Told when the rest of what Tk has to do is done; its events have the server's time.
    after idle [list told $time "\"benchmark\":\"$::benchmark\",\"action\":\"$action\",\"asked_ms\":$ms,\"begin_ns\":${begin}000,\"end_ns\":${end}000,\"computed_ns\":0,\"slept_ns\":0,\"waited_ns\":0,\"round_trips\":0,\"switches\":0,\"queued_ns\":0"]
    if {[llength $::times] == 0} { after 200 finish }
    if {$::benchmark eq "timer"} { after 150 { works timer } }
}

proc told {time line} {
    if {$time == 0} { set time $::event_ms }
    if {$time > 0} { append line ",\"event_ms\":$time,\"toolkit_to_ns\":[now]000" }
    lappend ::lines "{$line}"
}

proc shows {canvas} {
    incr ::drawn
    $canvas delete mark
    $canvas create rectangle 10 10 [expr {50 + $::drawn % 100}] 40 -fill #e0c040 -tags mark
}

proc finish {} {
    set file [open $::truth w]
    foreach line $::lines { puts $file $line }
    close $file
    exit
}

proc frame_at {toplevel geometry} {
    set canvas [expr {$toplevel eq "." ? ".c" : "$toplevel.c"}]
    wm geometry $toplevel $geometry
    pack [canvas $canvas -background #3060a0 -highlightthickness 0] -fill both -expand 1
    return $canvas
}

proc opens {} {
    if {[winfo exists .dialog]} { return }
    toplevel .dialog
    bind [frame_at .dialog 300x200+450+0] <ButtonPress-1> { works close .dialog %t }
}

# What Tk's own bindings call gets to know the event's time here.
proc notes_time {tag sequence} { bind $tag $sequence "set ::event_ms %t\n[bind $tag $sequence]" }
if {$benchmark eq "menu"} {
    menu .bar -tearoff 0
    menu .bar.menu -tearoff 0
    .bar add cascade -label Menu -menu .bar.menu
    foreach item {one two three four five} { .bar.menu add command -label $item -command { works item } }
    . configure -menu .bar
    notes_time Menu <ButtonRelease>
}
set canvas [frame_at . 400x300+0+0]
switch $benchmark {
    keyboard { bind . <KeyPress> { works key . %t }; focus -force . }
    motion { bind $canvas <Motion> { works motion . %t } }
    button { bind $canvas <ButtonPress-1> { works button . %t } }
    two-frames {
        toplevel .second
        bind [frame_at .second 300x200+450+0] <ButtonPress-1> { works button . %t }
        bind $canvas <ButtonPress-1> { works button . %t }
    }
    non-modal-dialog { bind $canvas <ButtonPress-1> opens }
    painting {
        # Tk paints by itself, and tells the program of the size alone; once for each.
        bind $canvas <Configure> { if {[info exists painted] && $painted != %h} { set painted %h; works paint } }
    }
    combo-box {
        ttk::combobox .c.box -state readonly -values {one two three four}
        place .c.box -x 150 -y 100 -width 100 -height 20
        notes_time ComboboxListbox <ButtonRelease-1>
        bind .c.box <<ComboboxSelected>> { works select }
    }
    built-in-dialog {
        # Tk's own dialog, in which keys go from button to button; who asked works on the answer.
        focus -force .
        notes_time TButton <Return>
        bind $canvas <ButtonPress-1> { tk_messageBox -type okcancel -message Well?; works close }
    }
    modal-dialog {
        # An event loop of the handler's own, until the dialog is closed.
        bind $canvas <ButtonPress-1> { opens; tkwait visibility .dialog; grab .dialog; tkwait window .dialog }
    }
}
# Painted, and all that this led to done.
tkwait visibility $canvas
update
after 300 {
    set painted [winfo height $canvas]
    puts "ready [winfo id .]"
    flush stdout
    if {$benchmark eq "timer"} { after 150 { works timer } }
}
