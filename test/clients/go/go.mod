module sluice/clients

go 1.22

require github.com/eventials/go-tus v0.0.0-20220610120217-05d0564bb571
