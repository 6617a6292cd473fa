"""The adapter of kafka-python: kafka_python.py BOOTSTRAP."""

import sys

import kafka
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import BrokerResponseError, KafkaError
from kafka.structs import OffsetAndMetadata

from kafka_python_admin import Admin
from serve import Deadline, base64_of, bytes_of, failure, serve

bootstrap = sys.argv[1]


def failure_of(error):
    if isinstance(error, BrokerResponseError):
        return failure(type(error).__name__, error.errno, error)
    if isinstance(error, (KafkaError, ValueError, AssertionError)):
        return failure(type(error).__name__, None, error)
    return None


def told(record):
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": "append" if record.timestamp_type == 1 else "create",
        "key": base64_of(record.key),
        "value": base64_of(record.value),
        "headers": [[name, base64_of(value)] for name, value in record.headers],
    }


class Adapter(Admin):
    def __init__(self):
        super().__init__(bootstrap)
        self.consumer = None
        self.read = {}

    def produce(self, topic, records, codec, acks, idempotent, maxBytes=None):
        options = {} if maxBytes is None else {"max_request_size": maxBytes}
        producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            linger_ms=20,
            delivery_timeout_ms=10_000,
            request_timeout_ms=8_000,
            max_block_ms=5_000,
            **options,
        )
        try:
            futures = [self._send(producer, topic, record) for record in records]
            producer.flush()
            return {"records": [self._delivery(future) for future in futures]}
        finally:
            producer.close()

    def _send(self, producer, topic, record):
        return producer.send(
            topic,
            key=bytes_of(record["key"]),
            value=bytes_of(record["value"]),
            headers=[(name, bytes_of(value)) for name, value in record["headers"]],
            partition=record.get("partition"),
            timestamp_ms=record.get("timestamp"),
        )

    def _delivery(self, future):
        try:
            metadata = future.get(timeout=15)
            # With acks=0 nobody tells an offset.
            return {"partition": metadata.partition, "offset": metadata.offset, "error": None}
        except KafkaError as error:
            return {"partition": -1, "offset": -1, "error": failure_of(error)}

    def consume(self, topic, partition, offset, count, timeoutMs):
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False)
        place = TopicPartition(topic, partition)
        consumer.assign([place])
        if offset == "earliest":
            consumer.seek_to_beginning(place)
        elif offset == "latest":
            consumer.seek_to_end(place)
        else:
            consumer.seek(place, offset)
        records = []
        deadline = Deadline(timeoutMs)
        while len(records) < count and not deadline.is_over:
            for found in consumer.poll(timeout_ms=500).values():
                records.extend(told(record) for record in found)
        consumer.close()
        return {"records": records[:count]}

    def subscribe(self, group, topics, reset, protocol, sessionTimeoutMs, instanceId=None):
        self.consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            group_instance_id=instanceId,
            auto_offset_reset=reset,
            enable_auto_commit=False,
            session_timeout_ms=sessionTimeoutMs,
            heartbeat_interval_ms=min(500, sessionTimeoutMs // 3),
        )
        self.consumer.subscribe(topics)
        return {}

    def poll(self, forMs, max):
        found = self.consumer.poll(timeout_ms=forMs, max_records=max)
        records = [record for batch in found.values() for record in batch]
        for record in records:
            self.read[TopicPartition(record.topic, record.partition)] = record.offset + 1
        assignment = [{"topic": place.topic, "partition": place.partition} for place in self.consumer.assignment()]
        return {"records": [told(record) for record in records], "assignment": assignment}

    def commit(self):
        owned = self.consumer.assignment()
        offsets = {place: OffsetAndMetadata(offset, "", -1) for place, offset in self.read.items() if place in owned}
        self.consumer.commit(offsets)
        return {}

    def close(self):
        self.consumer.close()
        return {}

    def offsetsForTimes(self, topic, partition, timestamps):
        consumer = KafkaConsumer(bootstrap_servers=bootstrap)
        place = TopicPartition(topic, partition)
        offsets = []
        for timestamp in timestamps:
            found = consumer.offsets_for_times({place: timestamp})[place]
            offsets.append({"timestamp": timestamp, "offset": None if found is None else found.offset})
        consumer.close()
        return {"offsets": offsets}

    def listOffsets(self, topic, partitions, at):
        consumer = KafkaConsumer(bootstrap_servers=bootstrap)
        places = [TopicPartition(topic, partition) for partition in partitions]
        try:
            ask = consumer.beginning_offsets if at == "earliest" else consumer.end_offsets
            found = ask(places, timeout_ms=5_000)
        finally:
            consumer.close()
        return {"offsets": [{"partition": place.partition, "offset": found[place]} for place in places]}


declaration = {
    "client": "kafka-python",
    "version": kafka.__version__,
    "unsupported": {
        "null-headers": "its producer takes bytes only",
        "consumer-protocol": "it speaks the classic protocol",
    },
}
serve(declaration, Adapter(), failure_of)
