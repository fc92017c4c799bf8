// Package sluice checks calls by the rules of a Sluice server, over HTTP. The packages sluicehttp and sluicegrpc put such
// checks in front of handlers.
package sluice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Attributes describe a call: "api_key", "ip", "endpoint", "method" and any others that the rules use.
type Attributes map[string]string

// Checker is a Client, or a sluicetest.Fake.
type Checker interface {
	Check(ctx context.Context, attributes Attributes, cost int64) Decision
}

// FailureMode decides while the server does not.
type FailureMode int

const (
	Open   FailureMode = iota // Calls pass.
	Closed                    // Calls get 503.
)

// Options of a Client; the zero value is valid.
type Options struct {
	Deadline       time.Duration // Of a whole check; 20 ms if 0.
	OnFailure      FailureMode
	Token          string            // If the server requires one of checks.
	OnError        func(error)       // Called for every check that the server did not decide.
	MaxConnections int               // 64 if 0. Further checks wait, within their deadline.
	Transport      http.RoundTripper // nil: a transport of its own.
}

// Client checks calls. Safe for concurrent use.
type Client struct {
	target  string
	options Options
	http    http.Client
}

// New returns a client of the server at a URL such as http://127.0.0.1:8080. It does not connect yet.
func New(server string, options Options) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, errors.New("sluice: expected http://host:port or https://host:port") // It may have a password.
	}
	if options.Deadline < 0 || options.MaxConnections < 0 {
		return nil, errors.New("sluice: Deadline and MaxConnections must not be negative")
	}
	if !printable.MatchString(options.Token) {
		return nil, errors.New("sluice: Token must be printable ASCII")
	}
	if options.Deadline == 0 {
		options.Deadline = 20 * time.Millisecond
	}
	if options.MaxConnections == 0 {
		options.MaxConnections = 64
	}
	if options.Transport == nil {
		// A connection is made in the background: it may take longer than a check, but not hold its place forever.
		patience := max(time.Second, options.Deadline)
		options.Transport = &http.Transport{
			DialContext: (&net.Dialer{Timeout: patience}).DialContext, TLSHandshakeTimeout: patience,
			MaxConnsPerHost: options.MaxConnections, MaxIdleConnsPerHost: options.MaxConnections,
			IdleConnTimeout: time.Minute, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10,
		}
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := http.Client{Transport: options.Transport, CheckRedirect: refuse}
	return &Client{base.JoinPath("/api/v1/rate-limit/check").String(), options, client}, nil
}

// Check decides a call. It never fails: OnFailure decides if the server does not. The context's end does not end a check.
func (c *Client) Check(ctx context.Context, attributes Attributes, cost int64) Decision {
	decision, err := c.ask(ctx, attributes, cost)
	if err == nil {
		return decision
	}
	if c.options.OnError != nil {
		c.options.OnError(err)
	}
	if c.options.OnFailure == Open {
		return Decision{Allowed: true, Status: http.StatusOK, Failed: true}
	}
	const message = "The rate limiter is not available"
	return Decision{Status: http.StatusServiceUnavailable, Code: "LIMITER_UNAVAILABLE", Message: message, Failed: true}
}

func (c *Client) ask(ctx context.Context, attributes Attributes, cost int64) (Decision, error) {
	// A caller that hangs up, or has no time, must not make its check fail, and pass.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Deadline)
	defer cancel()
	body, err := json.Marshal(map[string]any{"attributes": attributes, "cost": cost, "receipt": false})
	if err != nil {
		return Decision{}, err
	}
	if len(body) > maxRequest {
		return tooLarge, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target, bytes.NewReader(body))
	if err != nil {
		return Decision{}, err
	}
	request.GetBody = nil // A check that may have run is not sent again.
	request.Header.Set("Content-Type", "application/json")
	// Of the server for its store, so that the rule's failure mode decides and not this client's.
	timeout := max(1, (c.options.Deadline * 3 / 4).Milliseconds())
	request.Header.Set("X-Request-Timeout-Ms", strconv.FormatInt(timeout, 10))
	if c.options.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Decision{}, err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return Decision{}, err
	}
	return decide(response, reply)
}
