"""Endless load by an idempotent librdkafka producer: producer.py ADDRESS TOPIC PARTITIONS RECORDS_PER_SECOND VALUE_BYTES

Record number n goes to partition n % PARTITIONS with the value "n" and padding. Every acknowledged record gives a line
"partition offset n". SIGTERM: sends what is queued, then "done SENT ACKNOWLEDGED". A record that failed gives "failed n REASON".
"""

import os
import signal
import sys
import time

from confluent_kafka import KafkaException, Producer

address, topic = sys.argv[1:3]
partitions, rate, value_bytes = (int(argument) for argument in sys.argv[3:6])
running = True
lines = []
acknowledged = 0


def stop(_signal, _frame):
    global running
    running = False


def delivered(error, message):
    global acknowledged
    number = int(message.value().split(b" ", 1)[0])
    if error is not None:
        lines.append(f"failed {number} {error}\n")
        return
    acknowledged += 1
    lines.append(f"{message.partition()} {message.offset()} {number}\n")


def report():
    if lines:
        os.write(1, "".join(lines).encode())
        lines.clear()


def failed(error):
    if error.fatal():
        os.write(1, f"failed -1 fatal: {error}\n".encode())
        os._exit(3)


signal.signal(signal.SIGTERM, stop)
producer = Producer(
    {
        "bootstrap.servers": address,
        "enable.idempotence": True,
        "acks": "all",
        "message.timeout.ms": 0,
        "linger.ms": 2,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
        "retry.backoff.ms": 20,
        "retry.backoff.max.ms": 200,
        "topic.metadata.refresh.fast.interval.ms": 50,
        "socket.timeout.ms": 5000,
        "error_cb": failed,
    }
)
number = 0
began = time.monotonic()
debt = 0.0
while running:
    time.sleep(0.005)
    now = time.monotonic()
    debt = min(debt + (now - began) * rate, 1000.0)
    began = now
    # While the node is away the queue must not grow without end.
    while debt >= 1 and len(producer) < 20000:
        text = f"{number} ".encode()
        producer.produce(topic, text + b"." * (value_bytes - len(text)), partition=number % partitions, on_delivery=delivered)
        number += 1
        debt -= 1
    producer.poll(0)
    report()
while producer.flush(1) > 0:
    report()
report()
os.write(1, f"done {number} {acknowledged}\n".encode())
