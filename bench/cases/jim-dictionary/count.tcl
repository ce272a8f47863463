# How many visitors there were, and how many visits the most frequent of them made.
set file [open [lindex $argv 0]]
set visits [dict create]
while {[gets $file name] >= 0} {
    dict incr visits $name
}
set most 0
foreach {name count} $visits {
    if {$count > $most} {set most $count}
}
puts "[dict size $visits] $most"
