// The application of the contract (clients/contract/README.md), with the middleware of net/http.
package main

import (
	"fmt"
	"net"
	"net/http"

	sluice "sluice.example/client"
	"sluice.example/client/internal/contract"
	"sluice.example/client/sluicehttp"
)

func main() {
	attributes := func(request *http.Request, attributes sluice.Attributes) bool {
		attributes["api_key"] = contract.KeyOf(request)
		return request.URL.Path != "/exempt"
	}
	mux := http.NewServeMux()
	for _, path := range []string{"/limited", "/busy", "/unlimited", "/exempt"} {
		mux.HandleFunc("GET "+path, func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, "ok") })
	}
	limit := sluicehttp.Middleware(contract.Checker(), sluicehttp.Options{Attributes: attributes})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, limit(mux)))
}
