module engine-peers

go 1.23

require golang.org/x/time v0.9.0
