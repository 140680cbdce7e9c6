// Follows a live find by tmaxmax/go-sse: events-gosse URL. Prints each event as a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/tmaxmax/go-sse"
)

func main() {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, os.Args[1], nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	request.Header.Set("use-pre-stored-structure", "true")
	client := sse.Client{Backoff: sse.Backoff{InitialInterval: 200 * time.Millisecond, MaxInterval: time.Second}}
	connection := client.NewConnection(request)
	connection.SubscribeToAll(func(event sse.Event) {
		shown, _ := json.Marshal(map[string]string{"event": event.Type, "id": event.LastEventID, "data": event.Data})
		fmt.Println(string(shown))
	})
	log.Fatal(connection.Connect())
}
