// The adapter of franz-go.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	. "millrace.test/compat/adapter"
)

const module = "github.com/twmb/franz-go"

func main() {
	bootstrap := os.Args[1]
	handlers := Handlers{}
	recordHandlers(handlers, bootstrap)
	adminHandlers(handlers, kadm.NewClient(connect(bootstrap)))
	declaration := Declaration{
		Client:      "franz-go",
		Version:     fmt.Sprintf("%s, kadm %s", VersionOf(module), VersionOf(module+"/pkg/kadm")),
		Unsupported: map[string]string{},
	}
	Serve(declaration, handlers, failureOf)
}

func connect(bootstrap string, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, options...)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return client
}

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	var known *kerr.Error
	if errors.As(err, &known) {
		return Failed(known.Message, int(known.Code), err.Error())
	}
	// Errors of the client have no names but their texts, which may go on with particulars.
	name, _, _ := strings.Cut(err.Error(), ":")
	return &Failure{Name: name, Message: err.Error()}
}
