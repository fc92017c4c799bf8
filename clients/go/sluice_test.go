package sluice

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

func serve(t *testing.T, options Options, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if options.Deadline == 0 {
		options.Deadline = time.Minute
	}
	client, err := New(server.URL, options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestRepliesThatDecideNothingAreFailures(t *testing.T) {
	for _, reply := range []struct {
		status int
		body   string
	}{
		{500, "{}"}, {401, "{}"}, {404, "{}"}, {302, `{"allowed":true}`}, {200, "null"}, {200, `{"allowed":1}`}, {200, ""},
		{400, "null"}, {400, "[]"}, {200, `{"allowed":false}`}, {429, `{"allowed":true}`}, {503, `{"code":"STORAGE_UNAVAILABLE"}`},
	} {
		var reported error
		options := Options{OnFailure: Closed, OnError: func(err error) { reported = err }}
		client := serve(t, options, func(writer http.ResponseWriter, _ *http.Request) {
			writer.Header().Set("Location", "/elsewhere")
			writer.WriteHeader(reply.status)
			io.WriteString(writer, reply.body)
		})
		decision := client.Check(context.Background(), nil, 1)
		if decision.Allowed || !decision.Failed || decision.Status != 503 || reported == nil {
			t.Errorf("%v: %+v, %v", reply, decision, reported)
		}
	}
}

func TestADenialHasItsStatusHeadersAndBody(t *testing.T) {
	client := serve(t, Options{}, func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Retry-After", "7")
		writer.Header().Set("RateLimit-Policy", "3;w=60")
		writer.Header().Set("Set-Cookie", "a=b")
		writer.WriteHeader(429)
		io.WriteString(writer, `{"allowed":false,"code":"C","message":"m","denialId":"d","limits":[{"rule":"r"}]}`)
	})
	decision := client.Check(context.Background(), nil, 1)
	if decision.Allowed || decision.Failed || decision.Status != 429 || len(decision.Header) != 2 {
		t.Errorf("%+v", decision)
	}
	if body := string(decision.Body()); body != `{"error":{"code":"C","denial_id":"d","message":"m"}}` {
		t.Error(body)
	}
}

func TestAnInvalidCallIsDeniedAndNotAFailure(t *testing.T) {
	client := serve(t, Options{}, func(writer http.ResponseWriter, _ *http.Request) {
		writer.WriteHeader(400)
		io.WriteString(writer, `{"code":"INVALID_KEY","detail":"too long"}`)
	})
	if decision := client.Check(context.Background(), nil, 1); decision.Allowed || decision.Failed || decision.Message != "too long" {
		t.Errorf("%+v", decision)
	}
}

func TestAttributesAreOnlyEverInTheBody(t *testing.T) {
	want := Attributes{"api_key": "a\r\nX-Evil: 1\r\n\r\n\"}"}
	client := serve(t, Options{Token: "t0ken"}, func(writer http.ResponseWriter, request *http.Request) {
		var body struct {
			Attributes Attributes
			Cost       int64
		}
		err := json.NewDecoder(request.Body).Decode(&body)
		if err != nil || body.Attributes["api_key"] != want["api_key"] || body.Cost != 2 || request.Header.Get("X-Evil") != "" ||
			request.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("%v %+v %v", err, body, request.Header)
		}
		io.WriteString(writer, `{"allowed":true,"delayMs":1500}`)
	})
	if decision := client.Check(context.Background(), want, 2); !decision.Allowed || decision.Delay != 1500*time.Millisecond {
		t.Errorf("%+v", decision)
	}
}

func TestAttributesThatAreTooLongAreDeniedWithoutAServer(t *testing.T) {
	client, err := New("http://127.0.0.1:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	decision := client.Check(context.Background(), Attributes{"user": strings.Repeat("k", 70_000)}, 1)
	if decision.Allowed || decision.Failed || decision.Status != 400 {
		t.Errorf("%+v", decision)
	}
}

func TestThousandsOfChecksShareTheConnections(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		io.WriteString(writer, `{"allowed":true}`)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client, err := New(server.URL, Options{Deadline: time.Minute, OnFailure: Closed, MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 3000 {
		group.Add(1)
		go func() {
			defer group.Done()
			if decision := client.Check(context.Background(), nil, 1); !decision.Allowed {
				t.Errorf("%+v", decision)
			}
		}()
	}
	group.Wait()
	if connections.Load() > 16 { // One that was replaced counts twice.
		t.Errorf("%d connections", connections.Load())
	}
}

func TestACallerThatHangsUpOrHasNoTimeIsStillDecided(t *testing.T) {
	client := serve(t, Options{}, func(writer http.ResponseWriter, _ *http.Request) {
		writer.WriteHeader(429)
		io.WriteString(writer, `{"allowed":false}`)
	})
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	for _, ctx := range []context.Context{canceled, late} {
		if decision := client.Check(ctx, nil, 1); decision.Allowed || decision.Failed {
			t.Errorf("%+v", decision)
		}
	}
}

func TestNothingOfAHostileReplyIsLong(t *testing.T) {
	client := serve(t, Options{}, func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("RateLimit", "tab\there")
		writer.Header().Set("RateLimit-Policy", strings.Repeat("p", 2000))
		writer.WriteHeader(429)
		io.WriteString(writer, `{"allowed":false,"message":"`+strings.Repeat("é", 5000)+`"}`)
	})
	decision := client.Check(context.Background(), nil, 1)
	if decision.Failed || len(decision.Header) != 0 || len(decision.Message) > maxText || !utf8.ValidString(decision.Message) {
		t.Errorf("%+v", decision)
	}
	client = serve(t, Options{}, func(writer http.ResponseWriter, _ *http.Request) {
		io.WriteString(writer, `{"allowed":true,"delayMs":9223372036854775807}`)
	})
	if decision := client.Check(context.Background(), nil, 1); !decision.Allowed || decision.Delay != maxDelay {
		t.Errorf("%+v", decision)
	}
}

func TestWrongOptionsAreRefusedAtOnce(t *testing.T) {
	for _, server := range []string{"", "127.0.0.1:8080", "ftp://x", "http://", "://"} {
		if _, err := New(server, Options{}); err == nil {
			t.Errorf("%q is taken", server)
		}
	}
	for _, options := range []Options{{Deadline: -1}, {MaxConnections: -1}, {Token: "a\r\nb"}} {
		if _, err := New("http://x", options); err == nil {
			t.Errorf("%+v is taken", options)
		}
	}
	if _, err := New("redis://:secret@x", Options{}); strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
