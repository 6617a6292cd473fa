// Package adapter is what the adapters of the Go clients share: the lines that they and the runner say to each other.
package adapter

import "encoding/base64"

// Bytes are base64 in a line; nil is null there, and no bytes are an empty string.
type Bytes []byte

func (b Bytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	return []byte(`"` + base64.StdEncoding.EncodeToString(b) + `"`), nil
}

// Declaration is the first line of an adapter.
type Declaration struct {
	Client      string            `json:"client"`
	Version     string            `json:"version"`
	Unsupported map[string]string `json:"unsupported"`
}

// Failure is an error of the server, or of the client before or after it.
type Failure struct {
	Name    string `json:"name"`
	Code    *int   `json:"code"`
	Message string `json:"message"`
}

// Failed names an error by Kafka's number.
func Failed(name string, code int, message string) *Failure {
	return &Failure{name, &code, message}
}

type RecordIn struct {
	Key       *Bytes
	Value     *Bytes
	Headers   []Header
	Timestamp *int64
	Partition *int32
}

// HasPartition says whether a record is for a partition that the command chose.
func HasPartition(records []RecordIn) bool {
	for _, record := range records {
		if record.Partition != nil {
			return true
		}
	}
	return false
}

type RecordOut struct {
	Partition     int32    `json:"partition"`
	Offset        int64    `json:"offset"`
	Timestamp     int64    `json:"timestamp"`
	TimestampType string   `json:"timestampType,omitempty"`
	Key           Bytes    `json:"key"`
	Value         Bytes    `json:"value"`
	Headers       []Header `json:"headers"`
}

type PartitionOffset struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
}

type Produced struct {
	PartitionOffset
	Error *Failure `json:"error"`
}

type TopicPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

type TimedOffset struct {
	Timestamp int64 `json:"timestamp"`
	// A number, nil where no record is that late, or "end".
	Offset any `json:"offset"`
}

type NamedResult struct {
	Name  string   `json:"name,omitempty"`
	Group string   `json:"group,omitempty"`
	Error *Failure `json:"error"`
}

type PartitionInfo struct {
	Partition int32   `json:"partition"`
	Leader    int32   `json:"leader"`
	Replicas  []int32 `json:"replicas"`
	Isr       []int32 `json:"isr"`
}

type Config struct {
	Name        string  `json:"name"`
	Value       *string `json:"value"`
	IsReadOnly  *bool   `json:"isReadOnly,omitempty"`
	IsSensitive *bool   `json:"isSensitive,omitempty"`
	Source      *int    `json:"source,omitempty"`
}

type Group struct {
	Group        string `json:"group"`
	State        string `json:"state,omitempty"`
	ProtocolType string `json:"protocolType,omitempty"`
	Type         string `json:"type,omitempty"`
}

type Member struct {
	ClientID   string           `json:"clientId"`
	InstanceID *string          `json:"instanceId,omitempty"`
	Partitions []TopicPartition `json:"partitions"`
}

type GroupDescription struct {
	State        string   `json:"state"`
	ProtocolType string   `json:"protocolType,omitempty"`
	Protocol     string   `json:"protocol,omitempty"`
	Members      []Member `json:"members"`
}

type Committed struct {
	PartitionOffset
	Metadata *string `json:"metadata,omitempty"`
}
