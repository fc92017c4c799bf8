package sluicehttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	sluice "sluice.example/client"
	"sluice.example/client/sluicehttp"
	"sluice.example/client/sluicetest"
)

func TestTheHandlerSeesOnlyRequestsThatPass(t *testing.T) {
	fake, handled := &sluicetest.Fake{Limit: 2}, 0
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { handled++ })
	limit := sluicehttp.Middleware(fake, sluicehttp.Options{Cost: func(*http.Request) int64 { return 2 }})
	for _, want := range []int{200, 429} {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest("PUT", "/a%20b?key=x", nil)
		request.RemoteAddr = "[2001:db8::1]:4711"
		limit(handler).ServeHTTP(recorder, request)
		if recorder.Code != want || recorder.Header().Get("X-RateLimit-Limit") != "2" {
			t.Errorf("%d %v", recorder.Code, recorder.Header())
		}
	}
	if handled != 1 {
		t.Errorf("the handler ran %d times", handled)
	}
	call := fake.Calls()[0]
	if call.Cost != 2 || call.Attributes["ip"] != "2001:db8::1" || call.Attributes["endpoint"] != "/a b" || call.Attributes["method"] != "PUT" {
		t.Errorf("%+v", call)
	}
}

func TestWhatAttributesExemptsIsNotChecked(t *testing.T) {
	fake := &sluicetest.Fake{}
	exempt := func(*http.Request, sluice.Attributes) bool { return false }
	handler := sluicehttp.Middleware(fake, sluicehttp.Options{Attributes: exempt})(http.NotFoundHandler())
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	if len(fake.Calls()) != 0 {
		t.Error("it was checked")
	}
}
