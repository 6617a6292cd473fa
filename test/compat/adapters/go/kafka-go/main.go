// The adapter of segmentio/kafka-go.
package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	. "millrace.test/compat/adapter"
)

func main() {
	bootstrap := os.Args[1]
	handlers := Handlers{}
	recordHandlers(handlers, bootstrap)
	adminHandlers(handlers, bootstrap)
	declaration := Declaration{
		Client:  "kafka-go",
		Version: VersionOf("github.com/segmentio/kafka-go"),
		Unsupported: map[string]string{
			"empty-bytes":       "it reads nothing and null alike",
			"null-headers":      "it reads nothing and null alike",
			"idempotence":       "it has no idempotent producer",
			"static-membership": "it has none",
			"consumer-protocol": "it speaks the classic protocol",
			"deleteRecords":     "it cannot",
		},
	}
	Serve(declaration, handlers, failureOf)
}

// A transport holds what it has heard of topics for six seconds, also that there is none: each command has one of its own.
func connect(bootstrap string) (*kafka.Client, func()) {
	transport := &kafka.Transport{}
	client := &kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: 10 * time.Second, Transport: transport}
	return client, transport.CloseIdleConnections
}

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	var known kafka.Error
	if errors.As(err, &known) {
		return Failed(known.Title(), int(known), err.Error())
	}
	name, _, _ := strings.Cut(err.Error(), ":")
	return &Failure{Name: name, Message: err.Error()}
}
