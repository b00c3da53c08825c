# Programs in two versions, for sessions of many users.
#
#     wish session.tcl PROGRAM VERSION [MS] -name PROGRAM
#
# notes:   an editor. In version 2 its Save sleeps for MS.
# browser: a list. In version 1 its Load asks the server for MS, in version 2 its Paste has to wait for the other
#          program, holder, which has the clipboard.
# holder:  has the clipboard. In version 2 it takes MS to hand it out.
package require Tk

lassign $argv program version ms

proc storm {ms} {
    set end [expr {[clock milliseconds] + $ms}]
    while {[clock milliseconds] < $end} { winfo pointerxy . }
}

proc hands_out {offset length} {
    if {$::version == 2} { after $::ms }
    return "from the clipboard"
}

proc adds {words} {
    .text insert end $words
    .text see end
}

wm geometry . 500x300+0+0
if {$program eq "holder"} {
    wm geometry . 100x50+600+0
    selection handle -selection CLIPBOARD . hands_out
    selection own -selection CLIPBOARD .
    tkwait visibility .
    puts ready
    flush stdout
    # Until it is killed.
    vwait forever
}
text .text -width 60 -height 10
place .text -x 0 -y 60 -width 500 -height 240
button .first
button .second
place .first -x 20 -y 10 -width 120 -height 40
place .second -x 200 -y 10 -width 120 -height 40
switch $program {
    notes {
        .first configure -text Save -command {
            if {$version == 2} { after $ms }
            adds "saved\n"
        }
        .second configure -text Clear -command { .text delete 1.0 end }
    }
    browser {
        .first configure -text Load -command {
            if {$version == 1} { storm $ms }
            adds "a page\n"
        }
        .second configure -text Paste -command {
            adds [selection get -selection CLIPBOARD]
        }
    }
}
bind . <F12> exit
focus -force .text
tkwait visibility .text
update
after 300 { puts ready; flush stdout }
