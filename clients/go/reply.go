package sluice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

const (
	maxBody    = 1 << 20
	maxRequest = 64 << 10 // Larger ones might not arrive within the deadline: callers could cause failures.
)

var tooLarge = Decision{
	Status: http.StatusBadRequest, Code: "BODY_TOO_LARGE", Message: "The attributes of the call are too long",
}

// All styles of docs/http.md, and nothing else that a server may send.
var passedOn = regexp.MustCompile(`(?i)^(x-ratelimit-[a-z-]+|ratelimit(-[a-z]+)?|retry-after)$`)

// The decision of a reply; an error if it has none, as a 500.
func decide(response *http.Response, body []byte) (Decision, error) {
	var told struct {
		Allowed  *bool  `json:"allowed"`
		Code     string `json:"code"`
		Message  string `json:"message"`
		Detail   string `json:"detail"`
		DenialID string `json:"denialId"`
		DelayMs  int64  `json:"delayMs"`
	}
	if len(body) > maxBody {
		return Decision{}, fmt.Errorf("sluice: the reply is longer than %d bytes", maxBody)
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return Decision{}, fmt.Errorf("sluice: the body of the reply: %w", err)
	}
	status := response.StatusCode
	header := http.Header{}
	for name, values := range response.Header {
		if passedOn.MatchString(name) {
			header[name] = values
		}
	}
	if status == http.StatusOK && told.Allowed != nil && *told.Allowed {
		return Decision{Allowed: true, Status: status, Header: header, Delay: time.Duration(told.DelayMs) * time.Millisecond}, nil
	}
	// A denial; or an invalid call, such as a key that is too long. What callers can cause must never pass.
	denied := told.Allowed != nil && !*told.Allowed && status >= 400
	if !denied && status != http.StatusBadRequest {
		return Decision{}, fmt.Errorf("sluice: the reply decides nothing: status %d", status)
	}
	if told.Message == "" {
		told.Message = told.Detail
	}
	return Decision{Status: status, Header: header, Code: told.Code, Message: told.Message, DenialID: told.DenialID}, nil
}
