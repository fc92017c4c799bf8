// Package sluicetest has a fake of sluice.Client for tests of applications: no server, no network.
package sluicetest

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"sync"

	sluice "sluice.example/client"
)

// Call is one check that a Fake was asked for.
type Call struct {
	Attributes sluice.Attributes
	Cost       int64
}

// Fake passes Limit calls of each caller (0: all), by "api_key", else by "ip". While Decision is set, it is the result of
// every check. Safe for concurrent use, as long as its fields are not changed meanwhile.
type Fake struct {
	Limit    int64
	Decision *sluice.Decision

	mutex sync.Mutex
	calls []Call
	used  map[string]int64
}

// Calls returns the checks so far.
func (f *Fake) Calls() []Call {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]Call(nil), f.calls...)
}

// Check implements sluice.Checker.
func (f *Fake) Check(_ context.Context, attributes sluice.Attributes, cost int64) sluice.Decision {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calls = append(f.calls, Call{maps.Clone(attributes), cost})
	if f.Decision != nil {
		return *f.Decision
	}
	if f.Limit == 0 {
		return sluice.Decision{Allowed: true, Status: http.StatusOK}
	}
	if f.used == nil {
		f.used = map[string]int64{}
	}
	caller := attributes["api_key"]
	if caller == "" {
		caller = attributes["ip"]
	}
	allowed := f.used[caller]+cost <= f.Limit
	if allowed {
		f.used[caller] += cost
	}
	header := http.Header{}
	header.Set("X-RateLimit-Limit", strconv.FormatInt(f.Limit, 10))
	header.Set("X-RateLimit-Remaining", strconv.FormatInt(f.Limit-f.used[caller], 10))
	if allowed {
		return sluice.Decision{Allowed: true, Status: http.StatusOK, Header: header}
	}
	header.Set("Retry-After", "60")
	const code, message = "RATE_LIMIT_EXCEEDED", "Rate limit exceeded"
	return sluice.Decision{Status: http.StatusTooManyRequests, Header: header, Code: code, Message: message}
}
