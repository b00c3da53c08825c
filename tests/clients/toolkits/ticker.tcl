# A program that looks for something to do every 15 ms, ignores keys, and draws once in two seconds.
package require Tk
wm geometry . 400x300+0+0
pack [canvas .c -background #3060a0] -fill both -expand 1
focus -force .
set ticks 0
proc tick {} {
    after 15 tick
    if {[incr ::ticks] % 133 == 0} {
        .c delete mark
        .c create rectangle 10 10 [expr {50 + $::ticks % 50}] 60 -fill #e0c040 -tags mark
    }
}
tkwait visibility .c
update
tick
puts "ready [winfo id .]"
flush stdout
