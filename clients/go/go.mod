module sluice.example/client

go 1.22
