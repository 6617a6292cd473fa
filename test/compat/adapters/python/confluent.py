"""The adapter of confluent-kafka, which is librdkafka: confluent.py BOOTSTRAP."""

import sys

import confluent_kafka
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from confluent_admin import Admin, failure_of, told_error
from serve import Deadline, base64_of, bytes_of, serve

bootstrap = sys.argv[1]

# librdkafka goes on after these by itself.
PASSING = (KafkaError._PARTITION_EOF, KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)


def told(message):
    kind, timestamp = message.timestamp()
    return {
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp,
        "timestampType": "append" if kind == TIMESTAMP_LOG_APPEND_TIME else "create",
        "key": base64_of(message.key()),
        "value": base64_of(message.value()),
        "headers": [[name, base64_of(value)] for name, value in message.headers() or []],
    }


def messages_of(consumer, count, seconds):
    found = []
    for message in consumer.consume(count, timeout=seconds):
        error = message.error()
        if error is None:
            found.append(message)
        elif error.code() not in PASSING:
            raise KafkaException(error)
    return found


class Adapter(Admin):
    def __init__(self):
        super().__init__(bootstrap)
        self.consumer = None
        self.last = {}

    def produce(self, topic, records, codec, acks, idempotent, maxBytes=None):
        options = {} if maxBytes is None else {"message.max.bytes": maxBytes}
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "acks": acks,
                "enable.idempotence": idempotent,
                "linger.ms": 20,
                "message.timeout.ms": 10_000,
                "topic.metadata.propagation.max.ms": 3_000,
                **options,
            }
        )
        done = [{"partition": -1, "offset": -1, "error": None} for _ in records]
        for index, record in enumerate(records):
            try:
                self._send(producer, topic, record, done[index])
            except KafkaException as error:
                done[index]["error"] = told_error(error.args[0])
        producer.flush()
        return {"records": done}

    def _send(self, producer, topic, record, answer):
        def delivered(error, message):
            if error is None:
                answer.update(partition=message.partition(), offset=-1 if message.offset() is None else message.offset())
            else:
                answer.update(error=told_error(error))

        options = {name: record[name] for name in ("partition", "timestamp") if name in record}
        producer.produce(
            topic,
            key=bytes_of(record["key"]),
            value=bytes_of(record["value"]),
            headers=[(name, bytes_of(value)) for name, value in record["headers"]],
            on_delivery=delivered,
            **options,
        )

    def _reader(self, group, **options):
        return Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, **options})

    def consume(self, topic, partition, offset, count, timeoutMs):
        reader = self._reader("none")
        start = {"earliest": confluent_kafka.OFFSET_BEGINNING, "latest": confluent_kafka.OFFSET_END}.get(offset, offset)
        reader.assign([TopicPartition(topic, partition, start)])
        records = []
        deadline = Deadline(timeoutMs)
        while len(records) < count and not deadline.is_over:
            records.extend(messages_of(reader, count - len(records), 0.2))
        reader.close()
        return {"records": [told(record) for record in records]}

    def subscribe(self, group, topics, reset, protocol, sessionTimeoutMs, instanceId=None):
        options = {"auto.offset.reset": reset, "group.protocol": protocol}
        if protocol == "classic":  # with the other one the broker decides
            options["session.timeout.ms"] = sessionTimeoutMs
            options["heartbeat.interval.ms"] = min(500, sessionTimeoutMs // 3)
        if instanceId is not None:
            options["group.instance.id"] = instanceId
        self.consumer = self._reader(group, **options)
        self.consumer.subscribe(topics)
        return {}

    def poll(self, forMs, max):
        # `consume` waits for all of them: the first alone, then what is there.
        messages = messages_of(self.consumer, 1, forMs / 1000)
        if messages:
            messages += messages_of(self.consumer, max - 1, 0.05)
        for message in messages:
            self.last[(message.topic(), message.partition())] = message.offset() + 1
        assignment = [{"topic": place.topic, "partition": place.partition} for place in self.consumer.assignment()]
        return {"records": [told(message) for message in messages], "assignment": assignment}

    def commit(self):
        owned = {(place.topic, place.partition) for place in self.consumer.assignment()}
        offsets = [TopicPartition(*place, offset) for place, offset in self.last.items() if place in owned]
        if offsets:
            for place in self.consumer.commit(offsets=offsets, asynchronous=False):
                if place.error is not None:
                    raise KafkaException(place.error)
        return {}

    def close(self):
        self.consumer.close()
        return {}

    def offsetsForTimes(self, topic, partition, timestamps):
        reader = self._reader("none")
        offsets = []
        for timestamp in timestamps:
            [found] = reader.offsets_for_times([TopicPartition(topic, partition, timestamp)], timeout=8)
            if found.error is not None:
                raise KafkaException(found.error)
            # Without such a record librdkafka gives the end, as the number -1.
            offsets.append({"timestamp": timestamp, "offset": "end" if found.offset == -1 else found.offset})
        reader.close()
        return {"offsets": offsets}


declaration = {
    "client": "confluent-kafka",
    "version": f"{confluent_kafka.version()}, librdkafka {confluent_kafka.libversion()[0]}",
    "unsupported": {"deleteOffsets": "its Python API has none"},
}
serve(declaration, Adapter(), failure_of)
