// Package sluice is a Traefik middleware that asks Sluice whether a call may pass.
package sluice

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Config is the middleware's section of Traefik's configuration.
type Config struct {
	Address  string   `json:"address"`
	Timeout  string   `json:"timeout"`
	FailOpen bool     `json:"failOpen"`
	Headers  []string `json:"headers"` // Forwarded unchanged.
}

// CreateConfig returns the defaults.
func CreateConfig() *Config {
	return &Config{
		Address:  "http://127.0.0.1:8080/v1/auth",
		Timeout:  "100ms",
		FailOpen: true,
		Headers:  []string{"X-API-Key", "Authorization", "Accept"},
	}
}

type limiter struct {
	next   http.Handler
	config Config
	client http.Client
}

// New creates a middleware in front of next.
func New(_ context.Context, next http.Handler, config *Config, name string) (http.Handler, error) {
	timeout, err := time.ParseDuration(config.Timeout)
	if err != nil {
		return nil, fmt.Errorf("%s: timeout: %w", name, err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	return &limiter{next, *config, http.Client{Timeout: timeout, Transport: transport}}, nil
}

func (l *limiter) ask(call *http.Request) (*http.Response, error) {
	question, err := http.NewRequestWithContext(call.Context(), http.MethodGet, l.config.Address, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range l.config.Headers {
		// All lines: Sluice refuses those that contradict each other.
		for _, value := range call.Header.Values(name) {
			question.Header.Add(name, value)
		}
	}
	// Set here, so that none of them can come from the client.
	peer, _, err := net.SplitHostPort(call.RemoteAddr)
	if err != nil {
		return nil, err
	}
	question.Header.Set("X-Forwarded-For", peer)
	question.Header.Set("X-Forwarded-Method", call.Method)
	question.Header.Set("X-Forwarded-Host", call.Host)
	question.Header.Set("X-Forwarded-Uri", call.URL.RequestURI())
	return l.client.Do(question)
}

func (l *limiter) ServeHTTP(out http.ResponseWriter, call *http.Request) {
	answer, err := l.ask(call)
	if err != nil {
		if !l.config.FailOpen {
			http.Error(out, "Service temporarily unavailable", http.StatusServiceUnavailable)
			return
		}
		l.next.ServeHTTP(out, call)
		return
	}
	defer answer.Body.Close()
	denied := answer.StatusCode != http.StatusOK
	for name, values := range answer.Header {
		lower := strings.ToLower(name)
		if denied && lower != "date" && lower != "content-length" || strings.Contains(lower, "ratelimit") {
			out.Header()[name] = values
		}
	}
	if !denied {
		io.Copy(io.Discard, answer.Body) // So that the connection can be reused.
		l.next.ServeHTTP(out, call)
		return
	}
	out.WriteHeader(answer.StatusCode)
	io.Copy(out, answer.Body)
}
