package main

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The service of ../echo.proto.
var echo = grpc.ServiceDesc{
	ServiceName: "echo.Echo",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: say}},
	Streams:     []grpc.StreamDesc{{StreamName: "Count", Handler: count, ServerStreams: true}},
}

func say(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	message := new(wrapperspb.BytesValue)
	if err := decode(message); err != nil {
		return nil, err
	}
	served.Add(1)
	return message, nil
}

func count(_ any, stream grpc.ServerStream) error {
	to := new(wrapperspb.UInt32Value)
	if err := stream.RecvMsg(to); err != nil {
		return err
	}
	served.Add(1)
	for i := range to.Value {
		if err := stream.SendMsg(wrapperspb.UInt32(i)); err != nil {
			return err
		}
	}
	return nil
}

func serveCalls(listener net.Listener, streams, retire int) {
	options := []grpc.ServerOption{grpc.MaxConcurrentStreams(uint32(streams))}
	if retire > 0 {
		age := time.Duration(retire) * time.Millisecond
		options = append(options, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: age}))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&echo, nil)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	check(server.Serve(listener))
}
