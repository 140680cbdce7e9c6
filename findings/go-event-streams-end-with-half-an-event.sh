#!/usr/bin/env bash
# r3labs/sse v2.10.0 and tmaxmax/go-sse v0.11.0 (Go modules): an event stream that ends in the middle of an event.
#
# Expected (HTML, section 9.2.6): "if the file ends in the middle of an event, before the final empty line, the incomplete
# event is not dispatched". Lines of a `retry:` alone make no event anywhere.
# Seen: both hand on what has come of the event, as if it were whole; and an event without data for a `retry:` at the end.
#
# Output seen:
#   r3labs/sse: "whole" "half of it"
#   r3labs/sse: "whole" ""
#   go-sse: "whole" "half of it"
#   go-sse: "whole" ""
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module example.com/half
go 1.22
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	r3labs "github.com/r3labs/sse/v2"
	gosse "github.com/tmaxmax/go-sse"
)

func main() {
	for _, follow := range []func(string) []string{byR3labs, byGoSse} {
		for _, end := range []string{"data: half of it\n", "retry: 1000\n"} {
			server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
				answer.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(answer, "data: whole\n\n"+end)
			}))
			fmt.Println(strings.Join(follow(server.URL), " "))
			server.Close()
		}
	}
}

func byR3labs(url string) []string {
	seen := []string{"r3labs/sse:"}
	r3labs.NewClient(url).SubscribeRaw(func(event *r3labs.Event) {
		seen = append(seen, fmt.Sprintf("%q", event.Data))
	})
	return seen
}

func byGoSse(url string) []string {
	seen := []string{"go-sse:"}
	context, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(context, http.MethodGet, url, nil)
	client := gosse.Client{Backoff: gosse.Backoff{MaxRetries: -1}}
	connection := client.NewConnection(request)
	connection.SubscribeToAll(func(event gosse.Event) { seen = append(seen, fmt.Sprintf("%q", event.Data)) })
	connection.Connect()
	return seen
}
GO
go get github.com/r3labs/sse/v2@v2.10.0 github.com/tmaxmax/go-sse@v0.11.0 2>/dev/null
go run . | tee output
diff output - <<'TEXT'
r3labs/sse: "whole" "half of it"
r3labs/sse: "whole" ""
go-sse: "whole" "half of it"
go-sse: "whole" ""
TEXT
