package adapter

import (
	"encoding/base64"
	"encoding/json"
)

// The commands, as the README of the suite describes them.

type Produce struct {
	Topic      string
	Records    []RecordIn
	Codec      string
	Acks       string
	Idempotent bool
	MaxBytes   int
}

type Consume struct {
	Topic     string
	Partition int32
	// A number, or "earliest" or "latest".
	Offset    Position
	Count     int
	TimeoutMs int
}

type Subscribe struct {
	Group            string
	Topics           []string
	Reset            string
	Protocol         string
	InstanceID       *string
	SessionTimeoutMs int
}

type Poll struct {
	ForMs int
	Max   int
}

type ListOffsets struct {
	Topic      string
	Partitions []int32
	At         string
}

type OffsetsForTimes struct {
	Topic      string
	Partition  int32
	Timestamps []int64
}

type NewTopic struct {
	Name              string
	Partitions        int32
	ReplicationFactor int16
	Configs           map[string]string
}

type CreateTopics struct {
	Topics       []NewTopic
	ValidateOnly bool
}

type Topics struct{ Topics []string }

type Topic struct{ Topic string }

type CreatePartitions struct {
	Topic string
	Total int32
}

type Resource struct {
	Kind string
	Name string
}

type AlterConfigs struct {
	Resource
	Set    map[string]string
	Remove []string
}

type DeleteRecords struct {
	Topic     string
	Partition int32
	Before    int64
}

type GroupID struct{ Group string }

type Groups struct{ Groups []string }

type GroupPartitions struct {
	Group      string
	Topic      string
	Partitions []int32
}

type AlterOffsets struct {
	Group   string
	Topic   string
	Offsets []PartitionOffset
}

type Nothing struct{}

// Header is a pair in an array.
type Header struct {
	Name  string
	Value Bytes
}

func (h Header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.Name, h.Value})
}

func (h *Header) UnmarshalJSON(line []byte) error {
	var pair [2]*string
	if err := json.Unmarshal(line, &pair); err != nil {
		return err
	}
	h.Name = *pair[0]
	if pair[1] == nil {
		return nil
	}
	value, err := base64.StdEncoding.DecodeString(*pair[1])
	h.Value = append(Bytes{}, value...)
	return err
}

func (b *Bytes) UnmarshalJSON(line []byte) error {
	var text string
	if err := json.Unmarshal(line, &text); err != nil {
		return err
	}
	bytes, err := base64.StdEncoding.DecodeString(text)
	*b = append(Bytes{}, bytes...)
	return err
}

// Of gives the bytes that a client takes: nil where there are none.
func (b *Bytes) Of() []byte {
	if b == nil {
		return nil
	}
	return *b
}

// Position is where to begin to read: Earliest, Latest or an offset.
type Position int64

const (
	Earliest Position = -2
	Latest   Position = -1
)

func (p *Position) UnmarshalJSON(line []byte) error {
	switch string(line) {
	case `"earliest"`:
		*p = Earliest
	case `"latest"`:
		*p = Latest
	default:
		return json.Unmarshal(line, (*int64)(p))
	}
	return nil
}
