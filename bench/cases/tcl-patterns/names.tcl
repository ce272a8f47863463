# Looks for names in a text, each by a pattern of its own; the argument says how many names there are.
set count [lindex $argv 0]
for {set i 0} {$i < $count} {incr i} {lappend names "name$i"}
set text [string repeat "the quick brown fox jumps over the lazy dog; " 60]
set searches 0
while {$searches < 30000} {
    foreach name $names {
        if {[regexp "(^|\[^a-z\])${name}(\[^a-z0-9\]|\$)" $text]} {puts "found $name"}
        incr searches
    }
}
puts done
