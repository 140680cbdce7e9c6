module sluice/clients

go 1.22

require (
	github.com/eventials/go-tus v0.0.0-20220610120217-05d0564bb571
	github.com/r3labs/sse/v2 v2.10.0
	github.com/tmaxmax/go-sse v0.11.0
)

require (
	golang.org/x/net v0.0.0-20191116160921-f9c825593386 // indirect
	gopkg.in/cenkalti/backoff.v1 v1.1.0 // indirect
)
