// Package contract has what the applications of the contract suite share: see clients/contract/README.md.
package contract

import (
	"net/http"
	"os"
	"strconv"
	"time"

	sluice "sluice.example/client"
	"sluice.example/client/sluicetest"
)

// KeyOf returns the API key of a request.
func KeyOf(request *http.Request) string {
	if key := request.Header.Get("X-API-Key"); key != "" {
		return key
	}
	return request.URL.Query().Get("key")
}

// Checker returns a client, or a fake if there is no target.
func Checker() sluice.Checker {
	target := os.Getenv("CONTRACT_TARGET")
	if target == "" {
		return &sluicetest.Fake{Limit: number("CONTRACT_LIMIT")}
	}
	options := sluice.Options{Deadline: time.Duration(number("CONTRACT_DEADLINE_MS")) * time.Millisecond}
	if os.Getenv("CONTRACT_ON_FAILURE") == "closed" {
		options.OnFailure = sluice.Closed
	}
	client, err := sluice.New("http://"+target, options)
	if err != nil {
		panic(err)
	}
	return client
}

func number(name string) int64 {
	value, err := strconv.ParseInt(os.Getenv(name), 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}
