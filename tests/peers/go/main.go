// A RocketMQ Go client driven through its standard streams: one JSON object per line.
//
//	in    {"id": 1, "op": "send", ...}
//	out   {"id": 1, "result": ...}  or  {"id": 1, "error": {"type", "message", "code"}}
//	out   {"event": "message", "client": "c1", ...}      at any time
//
// Commands run side by side, so that one that waits holds up no other. The end of the input ends the program.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

type object = map[string]any

var (
	out     = bufio.NewWriter(os.Stdout)
	writing sync.Mutex
)

func main() {
	rlog.SetLogLevel("warn") // it goes to standard error
	registry := newRegistry()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var command command
		if err := json.Unmarshal(line, &command); err != nil {
			fmt.Fprintln(os.Stderr, "not a command:", err)
			os.Exit(2)
		}
		go answer(registry, &command)
	}
}

func answer(registry *registry, command *command) {
	result, err := registry.run(command)
	if err != nil {
		write(object{"id": command.ID, "error": describeError(err)})
		return
	}
	write(object{"id": command.ID, "result": result})
}

// emit tells of something that nobody asked for just now.
func emit(event, client string, details object) {
	details["event"], details["client"] = event, client
	write(details)
}

func write(line object) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	writing.Lock()
	defer writing.Unlock()
	out.Write(text)
	out.WriteByte('\n')
	out.Flush()
}

func describeError(err error) object {
	description := object{"type": reflect.TypeOf(err).String(), "message": err.Error(), "code": nil}
	var refused primitive.MQBrokerErr
	if errors.As(err, &refused) {
		description["code"] = refused.ResponseCode
	}
	return description
}
