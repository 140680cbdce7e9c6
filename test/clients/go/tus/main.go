// Uploads a file by go-tus: tus ENDPOINT FILE PART_BYTES patch|post. Prints the address of the upload.
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/eventials/go-tus"
	"github.com/eventials/go-tus/memorystore"
)

func main() {
	endpoint, name, way := os.Args[1], os.Args[2], os.Args[4]
	partBytes, err := strconv.ParseInt(os.Args[3], 10, 64)
	check(err)
	store, err := memorystore.NewMemoryStore()
	check(err)
	client, err := tus.NewClient(endpoint, &tus.Config{
		ChunkSize:           partBytes,
		Resume:              true,
		OverridePatchMethod: way == "post",
		Store:               store,
		Header:              http.Header{"Authorization": {"Bearer " + os.Getenv("TOKEN")}},
	})
	check(err)
	file, err := os.Open(name)
	check(err)
	for cuts := 0; ; cuts++ {
		upload, err := tus.NewUploadFromFile(file)
		check(err)
		uploader, err := client.CreateOrResumeUpload(upload)
		if err == nil {
			err = uploader.Upload()
		}
		if err == nil {
			fmt.Println(uploader.Url())
			return
		}
		// a connection that broke
		if _, isCut := err.(*url.Error); !isCut || cuts == 10 {
			log.Fatal(err)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
