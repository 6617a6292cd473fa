// The adapter of sarama.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/IBM/sarama"

	. "millrace.test/compat/adapter"
)

func main() {
	bootstrap := []string{os.Args[1]}
	client, err := sarama.NewClient(bootstrap, config())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	handlers := Handlers{}
	recordHandlers(handlers, bootstrap)
	adminHandlers(handlers, client)
	declaration := Declaration{
		Client:  "sarama",
		Version: VersionOf("github.com/IBM/sarama"),
		Unsupported: map[string]string{
			"consumer-protocol": "it speaks the classic protocol",
		},
	}
	Serve(declaration, handlers, failureOf)
}

func config() *sarama.Config {
	config := sarama.NewConfig()
	// Its default is the protocol of Kafka 2.8: users set the newest that their brokers know.
	config.Version = sarama.MaxVersion
	config.Admin.Retry.Max = 2
	config.Admin.Timeout = 10 * time.Second
	return config
}

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	var code sarama.KError
	// It names errors by their texts: "kafka server: Topic with this name already exists".
	name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "kafka server: "), ":")
	if errors.As(err, &code) {
		name, _, _ = strings.Cut(strings.TrimPrefix(code.Error(), "kafka server: "), ":")
		return Failed(name, int(code), err.Error())
	}
	return &Failure{Name: name, Message: err.Error()}
}
