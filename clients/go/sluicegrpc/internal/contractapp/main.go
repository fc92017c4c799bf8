// The application of the contract (clients/contract/README.md), with the gRPC interceptors: an HTTP server that makes a
// gRPC call of each request, unary or as a stream.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	sluice "sluice.example/client"
	"sluice.example/client/internal/contract"
	"sluice.example/client/sluicegrpc"
)

// Any bytes are allowed in the metadata of this name.
const keyName = "x-api-key-bin"

var services = map[string]string{
	"/limited": "contract.Limited", "/busy": "contract.Busy", "/unlimited": "contract.Unlimited", "/exempt": "contract.Exempt",
}

func attributes(ctx context.Context, attributes sluice.Attributes) bool {
	if keys := metadata.ValueFromIncomingContext(ctx, keyName); len(keys) > 0 {
		attributes["api_key"] = keys[0]
	}
	return !strings.HasPrefix(attributes["endpoint"], "/contract.Exempt/")
}

func answer(_ any, ctx context.Context, _ func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	method, _ := grpc.Method(ctx)
	next := func(context.Context, any) (any, error) { return &emptypb.Empty{}, nil }
	return interceptor(ctx, &emptypb.Empty{}, &grpc.UnaryServerInfo{FullMethod: method}, next)
}

func answerStream(_ any, stream grpc.ServerStream) error { return stream.SendMsg(&emptypb.Empty{}) }

func serve() *grpc.ClientConn {
	checker, options := contract.Checker(), sluicegrpc.Options{Attributes: attributes}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(sluicegrpc.Unary(checker, options)), grpc.StreamInterceptor(sluicegrpc.Stream(checker, options)))
	for _, name := range services {
		server.RegisterService(&grpc.ServiceDesc{
			ServiceName: name, HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{{MethodName: "Get", Handler: answer}},
			Streams: []grpc.StreamDesc{{StreamName: "Watch", Handler: answerStream, ServerStreams: true}},
		}, struct{}{})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(listener) //nolint:errcheck // Ends with the process.
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	return connection
}

// Returns the header metadata and the error of a call.
func call(ctx context.Context, connection *grpc.ClientConn, service string) (header metadata.MD, err error) {
	if os.Getenv("CONTRACT_ADAPTER") == "grpc-unary" {
		err = connection.Invoke(ctx, "/"+service+"/Get", &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header))
		return header, err
	}
	stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+service+"/Watch")
	if err != nil {
		return nil, err
	}
	if err = stream.CloseSend(); err == nil {
		header, err = stream.Header()
	}
	for err == nil {
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return header, err
}

func main() {
	connection := serve()
	statuses := map[codes.Code]int{
		codes.ResourceExhausted: 429, codes.PermissionDenied: 403, codes.InvalidArgument: 400, codes.Unavailable: 503,
	}
	handler := func(writer http.ResponseWriter, request *http.Request) {
		ctx := metadata.AppendToOutgoingContext(request.Context(), keyName, contract.KeyOf(request))
		header, err := call(ctx, connection, services[request.URL.Path])
		for name, values := range header {
			if strings.Contains(name, "ratelimit") || name == "retry-after" {
				writer.Header()[http.CanonicalHeaderKey(name)] = values
			}
		}
		if err == nil {
			fmt.Fprint(writer, "ok")
			return
		}
		code, known := statuses[status.Code(err)]
		if !known {
			code = 500
		}
		name, _, _ := strings.Cut(status.Convert(err).Message(), ":")
		writer.WriteHeader(code)
		json.NewEncoder(writer).Encode(map[string]string{"code": name}) //nolint:errcheck // The client is gone.
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.HandlerFunc(handler)))
}
