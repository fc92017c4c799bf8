// Package sluicegrpc limits the calls of a gRPC server by the rules of a Sluice server.
package sluicegrpc

import (
	"context"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	sluice "sluice.example/client"
)

// Options of the interceptors; the zero value checks every call by address and method.
type Options struct {
	// Attributes adds to the attributes of a call, or replaces some; the API key of the metadata, for example. If it
	// returns false, the call is not limited. "endpoint" is the full method, such as /shop.Orders/Create.
	Attributes func(ctx context.Context, attributes sluice.Attributes) bool
}

// Unary returns an interceptor that checks every unary call:
//
//	grpc.NewServer(grpc.UnaryInterceptor(sluicegrpc.Unary(client, sluicegrpc.Options{})))
//
// A denied call gets ResourceExhausted; PermissionDenied, InvalidArgument or Unavailable where HTTP has 403, 400 or 503.
// Rate limit headers and "retry-after" are in the header metadata of the response.
func Unary(checker sluice.Checker, options Options) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		header, err := check(ctx, checker, options, info.FullMethod)
		if header != nil {
			grpc.SetHeader(ctx, header) //nolint:errcheck // Only without a transport.
		}
		if err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}

// Stream returns an interceptor that checks every stream once, when it begins.
func Stream(checker sluice.Checker, options Options) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		header, err := check(stream.Context(), checker, options, info.FullMethod)
		if header != nil {
			stream.SetHeader(header) //nolint:errcheck // Only after the header was sent.
		}
		if err != nil {
			return err
		}
		return next(server, stream)
	}
}

func check(ctx context.Context, checker sluice.Checker, options Options, method string) (metadata.MD, error) {
	attributes := sluice.Attributes{"method": "POST", "endpoint": method}
	if from, ok := peer.FromContext(ctx); ok {
		if host, _, err := net.SplitHostPort(from.Addr.String()); err == nil {
			attributes["ip"] = host
		}
	}
	if options.Attributes != nil && !options.Attributes(ctx, attributes) {
		return nil, nil
	}
	decision := checker.Check(ctx, attributes, 1)
	header := metadata.MD{}
	for name, values := range decision.Header {
		header[strings.ToLower(name)] = values
	}
	if decision.Allowed {
		return header, nil
	}
	return header, status.Errorf(codeOf(decision.Status), "%s: %s", decision.Code, decision.Message)
}

func codeOf(status int) codes.Code {
	switch status {
	case http.StatusBadRequest:
		return codes.InvalidArgument
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	default:
		return codes.ResourceExhausted
	}
}
