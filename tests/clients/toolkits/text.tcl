# A text to type into, in which nothing moves by itself.
package require Tk
wm geometry . 400x300+0+0
pack [text .t -insertofftime 0] -fill both -expand 1
focus -force .t
