package adapter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

// Handlers answer commands, by their names.
type Handlers map[string]func(line []byte) (any, error)

// On adds a handler whose command has the form C.
func On[C any](handlers Handlers, op string, handle func(C) (any, error)) {
	handlers[op] = func(line []byte) (any, error) {
		var command C
		if err := json.Unmarshal(line, &command); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		return handle(command)
	}
}

// Serve declares the client and answers commands until standard input ends.
func Serve(declaration Declaration, handlers Handlers, failureOf func(error) *Failure) {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	must(out.Encode(declaration))
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		answer, err := answer(handlers, line)
		if err != nil {
			must(out.Encode(map[string]any{"error": failureOf(err)}))
		} else {
			must(out.Encode(map[string]any{"ok": answer}))
		}
	}
}

func answer(handlers Handlers, line []byte) (any, error) {
	var command struct{ Op string }
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	handle, ok := handlers[command.Op]
	if !ok {
		return nil, fmt.Errorf("no handler for %s", command.Op)
	}
	return handle(line)
}

// VersionOf tells which version of a module this program was built with.
func VersionOf(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
