// Follows a live find by r3labs/sse: events-r3labs URL. Prints each event as a line of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/r3labs/sse/v2"
)

func main() {
	client := sse.NewClient(os.Args[1])
	client.Headers["Authorization"] = "Bearer " + os.Getenv("TOKEN")
	client.Headers["use-pre-stored-structure"] = "true"
	// it returns when the server ends the answer in order, and after 15 minutes of failures
	for {
		err := client.SubscribeRaw(func(event *sse.Event) {
			shown, _ := json.Marshal(map[string]string{
				"event": string(event.Event), "id": string(event.ID), "data": string(event.Data),
			})
			fmt.Println(string(shown))
		})
		fmt.Fprintln(os.Stderr, "ended:", err)
		time.Sleep(200 * time.Millisecond)
	}
}
