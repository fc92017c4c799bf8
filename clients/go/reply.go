package sluice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

const (
	maxBody    = 1 << 20
	maxText    = 1024
	maxDelay   = 24 * time.Hour
	maxRequest = 64 << 10 // Larger ones might not arrive within the deadline: callers could cause failures.
)

var tooLarge = Decision{
	Status: http.StatusBadRequest, Code: "BODY_TOO_LARGE", Message: "The attributes of the call are too long",
}

// All styles of docs/http.md, and nothing else that a server may send.
var passedOn = regexp.MustCompile(`(?i)^(x-ratelimit-[a-z-]+|ratelimit(-[a-z]+)?|retry-after)$`)
var printable = regexp.MustCompile(`^[\x20-\x7e]{0,1000}$`)

// Decision says whether a call passes. If it does not, Status and Body are the response. Header belongs to every response.
type Decision struct {
	Allowed  bool
	Status   int
	Header   http.Header
	Code     string
	Message  string
	DenialID string
	Delay    time.Duration // How long a caller of a leaky bucket should wait.
	Failed   bool          // The server did not decide: OnFailure did.
}

// Body is the JSON of a denial.
func (d Decision) Body() []byte {
	detail := map[string]string{"code": d.Code, "message": d.Message}
	if d.DenialID != "" {
		detail["denial_id"] = d.DenialID
	}
	body, _ := json.Marshal(map[string]any{"error": detail})
	return body
}

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
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("null")) {
		return Decision{}, errors.New("sluice: the body of the reply is not an object")
	}
	status := response.StatusCode
	header := http.Header{}
	for name, values := range response.Header {
		for _, value := range values {
			if passedOn.MatchString(name) && printable.MatchString(value) {
				header[name] = append(header[name], value)
			}
		}
	}
	if status == http.StatusOK && told.Allowed != nil && *told.Allowed {
		delay := time.Duration(min(max(told.DelayMs, 0), maxDelay.Milliseconds())) * time.Millisecond
		return Decision{Allowed: true, Status: status, Header: header, Delay: delay}, nil
	}
	// A denial; or an invalid call, such as a key that is too long. What callers can cause must never pass.
	denied := told.Allowed != nil && !*told.Allowed && status >= 400
	if !denied && status != http.StatusBadRequest {
		return Decision{}, fmt.Errorf("sluice: the reply decides nothing: status %d", status)
	}
	if told.Message == "" {
		told.Message = told.Detail
	}
	code, message, id := bounded(told.Code), bounded(told.Message), bounded(told.DenialID)
	return Decision{Status: status, Header: header, Code: code, Message: message, DenialID: id}, nil
}

func bounded(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}
