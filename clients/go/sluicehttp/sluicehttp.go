// Package sluicehttp limits the requests of a net/http server by the rules of a Sluice server.
package sluicehttp

import (
	"net"
	"net/http"

	sluice "sluice.example/client"
)

// Options of the middleware; the zero value checks every request by address, method and path.
type Options struct {
	// Attributes adds to the attributes of a call, or replaces some; the API key, for example. If it returns false, the
	// request is not limited. Behind a proxy, "ip" must come from here.
	Attributes func(request *http.Request, attributes sluice.Attributes) bool
	// Cost of a request; nil: 1.
	Cost func(request *http.Request) int64
}

// Middleware returns a function that puts a check in front of a handler:
//
//	limit := sluicehttp.Middleware(client, sluicehttp.Options{})
//	http.ListenAndServe(":8000", limit(mux))
func Middleware(checker sluice.Checker, options Options) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			attributes := sluice.Attributes{"method": request.Method, "endpoint": request.URL.Path}
			if host, _, err := net.SplitHostPort(request.RemoteAddr); err == nil {
				attributes["ip"] = host
			}
			if options.Attributes != nil && !options.Attributes(request, attributes) {
				next.ServeHTTP(writer, request)
				return
			}
			cost := int64(1)
			if options.Cost != nil {
				cost = options.Cost(request)
			}
			decision := checker.Check(request.Context(), attributes, cost)
			for name, values := range decision.Header {
				writer.Header()[name] = values
			}
			if decision.Allowed {
				next.ServeHTTP(writer, request)
				return
			}
			writer.Header().Set("Content-Type", "application/json")
			writer.WriteHeader(decision.Status)
			writer.Write(decision.Body()) //nolint:errcheck // The client is gone.
		})
	}
}
