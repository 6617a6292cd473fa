"""One member of a group, by confluent-kafka: python-member.py ADDRESSES GROUP TOPIC. See members.ts for what it prints."""

import os
import signal
import sys

from confluent_kafka import Consumer, KafkaError

addresses, group, topic = sys.argv[1:4]
running = True


def stop(_signal, _frame):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(
    {
        "bootstrap.servers": addresses,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 500,
        # An offset becomes eligible for commit only once its row is written below.
        "enable.auto.offset.store": False,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1000,
        # Small fetches, so that a killed member leaves work behind.
        "fetch.message.max.bytes": 8192,
        "queued.max.messages.kbytes": 256,
        "partition.assignment.strategy": "cooperative-sticky",
        "reconnect.backoff.max.ms": 500,
    }
)
consumer.subscribe([topic])
while running:
    messages = consumer.consume(200, timeout=0.2)
    lines = []
    last = {}
    for message in messages:
        if message.error():
            if message.error().code() not in (KafkaError._PARTITION_EOF, KafkaError._ALL_BROKERS_DOWN):
                print(message.error(), file=sys.stderr)
            continue
        key = "null" if message.key() is None else message.key().decode()
        value = message.value().decode()
        lines.append(f"Partition:{message.partition()}\tOffset:{message.offset()}\t{key}\t{value}\n")
        last[message.partition()] = message
    os.write(1, "".join(lines).encode())
    for message in last.values():
        try:
            consumer.store_offsets(message=message)
        except Exception:  # the partition went to another member meanwhile: it reads the rows again
            pass
consumer.close()
